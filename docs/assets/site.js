// The theme wraps wide tables while the page runs; whoever scrolls by keyboard must be able to reach them.
const reach = () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    if (wrap.scrollWidth > wrap.clientWidth) wrap.tabIndex = 0;
  }
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", reach);
reach();
