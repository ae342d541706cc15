"""The trusted authority: an offline program that certifies parties and deals keys. Files in, files out."""
