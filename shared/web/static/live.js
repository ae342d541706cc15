// A page whose part changes by itself tells so in one quiet sentence, and only when that sentence is another one.
"use strict";

(() => {
  const quietMilliseconds = 4000;
  const noticeMilliseconds = 30000;
  let last = 0;
  let timer = 0;
  // What has just been done is said until something else has happened since, or half a minute is over.
  const begun = Date.now();
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
    const isOld = Date.now() - begun > noticeMilliseconds;
    if (isOld || told.dataset.announce !== first) document.querySelector("[data-notice]")?.remove();
    clearTimeout(timer);
    timer = setTimeout(() => say(told.dataset.announce), Math.max(0, last + quietMilliseconds - Date.now()));
  });
})();
