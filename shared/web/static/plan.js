// A file that a person chooses is put into a field as text, so that it travels with the form and is kept with it.
"use strict";

(() => {
  const mostBytes = 900000;

  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-file-into]")) {
      const field = document.getElementById(place.dataset.fileInto);
      const input = place.querySelector("input");
      place.hidden = false;
      input.addEventListener("change", async () => {
        const [file] = input.files;
        if (!file) return;
        input.setCustomValidity(file.size > mostBytes ? place.dataset.tooLarge : "");
        if (input.reportValidity()) field.value = await file.text();
      });
    }
  });
})();
