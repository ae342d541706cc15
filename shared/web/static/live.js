// A page whose part changes by itself tells so in one quiet sentence, and only when that sentence is another one.
"use strict";

(() => {
  const quietMilliseconds = 4000;
  let last = 0;
  let timer = 0;
  // What has just been done is said until something else has happened since.
  const first = document.querySelector("[data-announce]")?.dataset.announce;

  function say(sentence) {
    const place = document.querySelector("[data-announce-here]");
    if (place && place.textContent !== sentence) {
      place.textContent = sentence;
      last = Date.now();
    }
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    const told = event.target.querySelector("[data-announce]");
    if (!told) return;
    if (told.dataset.announce !== first) document.querySelector("[data-notice]")?.remove();
    clearTimeout(timer);
    timer = setTimeout(() => say(told.dataset.announce), Math.max(0, last + quietMilliseconds - Date.now()));
  });
})();
