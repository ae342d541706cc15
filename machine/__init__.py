"""The machine that a program runs on: files, supervisor, the person at the terminal, browsers that show its pages.

What the three programs do alike with what `shared`, being pure, may not touch. Nothing here knows a program, the
protocol, a tree or a patient: names, words and numbers of errors are handed in, and each program keeps a thin module of
its own where it differs. Decision record 47.
"""
