// Small things that every page needs. Loaded in the head, so that the chosen theme is there before anything is drawn.
"use strict";

(() => {
  const key = "privet-theme";
  const root = document.documentElement;

  function stored() {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // a browser that keeps nothing follows the system
    }
  }

  function isDark() {
    const chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false; // without script it would do nothing
      button.setAttribute("aria-pressed", String(isDark()));
      button.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        button.setAttribute("aria-pressed", String(isDark()));
        try {
          localStorage.setItem(key, root.dataset.theme);
        } catch {
          // only this page, then
        }
      });
    }
  });
})();

// A part that keeps itself up to date waits while somebody is in it with the keyboard, and while nobody sees the page.
document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.detail.elt;
  if (part.matches("[data-calm]") && (document.hidden || part.contains(document.activeElement))) event.preventDefault();
});

// What looks like a button, and is told as one, is pressed by the space bar too.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || !event.target.matches("a[role=button]")) return;
  event.preventDefault();
  event.target.click();
});
