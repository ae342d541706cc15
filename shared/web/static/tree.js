// Everything around the picture: tools, search, rules, details, the table. `PrivetTree.of(element)` is what other scripts
// call: `.light([0, 2, 5])`, `.clear()`, `.svgText()`, `.pngBlob()`, `.picture`.
"use strict";

(() => {
  const { Nodes, filled, spelled } = PrivetTreeNodes;
  const { Picture } = PrivetTreePicture;
  const { swatch } = PrivetTreeShapes;
  const RULES_AT_ONCE = 100;
  const RULE_LETTERS = 400;
  const known = new WeakMap();

  function element(tag, className = "", ...inside) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...inside);
    return made;
  }

  class TreeView {
    constructor(host) {
      const read = (name) => JSON.parse(host.querySelector(`[data-tree-${name}]`).textContent);
      this.host = host;
      this.part = (name) => host.querySelector(`[data-tree-${name}]`);
      this.nodes = new Nodes(read("document"), read("texts"));
      this.words = this.nodes.words;
      this.id = host.dataset.treeName;
      this.part("room").hidden = false;
      this.part("twin").open = false;
      this.picture = new Picture(this.part("frame"), this.nodes, this.id, (node) => this.tell(node));
      this.rules = this.nodes.reading.filter((node) => !this.nodes.isSplit(node));
      this.matching = this.rules;
      this.hits = [];
      this.at = -1;
      this.legend();
      this.listen();
      this.moreRules();
      this.tell(this.nodes.root);
      const lit = host.dataset.treeLit.split(" ").filter(Boolean).map(Number);
      if (lit.length) this.light(lit);
    }

    listen() {
      this.host.addEventListener("click", (event) => this.clicked(event));
      this.host.addEventListener("keydown", (event) => this.key(event));
      this.part("search").addEventListener("submit", (event) => {
        event.preventDefault();
        this.go(1);
      });
      this.part("search").querySelector("input").addEventListener("input", (event) => this.search(event.target.value));
      this.part("previous").addEventListener("click", () => this.go(-1));
      this.part("twin").addEventListener("toggle", () => this.restOfTable());
      this.part("search").addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.shiftKey) {
          event.preventDefault();
          this.go(-1);
        }
      });
    }

    clicked(event) {
      const does = event.target.closest("[data-tree-do]");
      const rule = event.target.closest("[data-tree-rule]");
      if (does) this.act(does.dataset.treeDo);
      if (rule) this.chooseRule(this.nodes.all[Number(rule.dataset.treeRule)]);
    }

    key(event) {
      if (event.key !== "/" || event.target.closest("input")) return;
      event.preventDefault();
      this.part("search").querySelector("input").focus();
    }

    act(name) {
      const acts = {
        open: () => this.say(this.picture.openAll() ? "" : this.words.too_many),
        close: () => this.picture.closeAll(),
        in: () => this.picture.frame.zoomBy(1.25),
        out: () => this.picture.frame.zoomBy(0.8),
        fit: () => this.picture.frame.fit(),
        clear: () => this.clear(),
        more: () => this.moreRules(),
        svg: () => PrivetTreeSave.download(new Blob([this.svgText()], { type: "image/svg+xml" }), this.fileName("svg")),
        png: () => this.savePng(),
      };
      acts[name]();
    }

    // What other scripts call.

    /** Light up the places of a path. */
    light(places) {
      this.picture.light(places);
      this.host.querySelector('[data-tree-do="clear"]').hidden = this.picture.lit.size === 0;
      this.markRules();
      this.markRows();
      if (places.length) this.tell(this.nodes.all[places[places.length - 1]] || this.nodes.root);
    }

    clear() {
      this.light([]);
    }

    svgText() {
      return PrivetTreeSave.svgText(this.picture);
    }

    pngBlob() {
      return PrivetTreeSave.pngBlob(this.picture);
    }

    say(words) {
      this.part("said").textContent = words;
    }

    async savePng() {
      this.say("");
      try {
        PrivetTreeSave.download(await this.pngBlob(), this.fileName("png"));
      } catch {
        this.say(this.words.too_large);
      }
    }

    fileName(ending) {
      return `${filled(this.words.file, { hash: this.nodes.document.tree_sha256.slice(0, 12) })}.${ending}`;
    }

    // Search.

    search(text) {
      this.hits = this.nodes.find(text);
      this.at = -1;
      this.picture.found(this.hits);
      const hit = new Set(this.hits.map((node) => node.place));
      const isLeafHit = (leaf) => this.nodes.path(leaf).some((node) => hit.has(node.place));
      this.matching = text.trim() ? this.rules.filter(isLeafHit) : this.rules;
      this.part("rules").replaceChildren();
      this.moreRules();
      if (this.hits.length) this.go(1);
      else this.count(text);
    }

    go(step) {
      if (!this.hits.length) return;
      this.at = (this.at + step + this.hits.length) % this.hits.length;
      const node = this.hits[this.at];
      this.picture.openAbove(node);
      this.picture.current = node;
      this.picture.mark();
      this.picture.reveal(node);
      this.tell(node);
      this.count("-");
    }

    count(text) {
      const places = { at: this.at + 1, n: this.hits.length };
      const found = this.hits.length ? filled(this.words.hits, places) : this.words.no_hits;
      this.part("hits").textContent = text.trim() ? found : "";
    }

    // Rules.

    moreRules() {
      const list = this.part("rules");
      list.querySelector("[data-tree-do]")?.parentElement.remove();
      const from = list.children.length;
      for (const leaf of this.matching.slice(from, from + RULES_AT_ONCE)) list.append(this.rule(leaf));
      if (this.matching.length > from + RULES_AT_ONCE) {
        const more = element("button", "outline secondary small", filled(this.words.more_rules, { n: spelled(this.matching.length) }));
        more.type = "button";
        more.dataset.treeDo = "more";
        list.append(element("li", "", more));
      }
      this.markRules();
    }

    rule(leaf) {
      const words = this.nodes.ruleWords(leaf);
      const shown = words.length > RULE_LETTERS ? `${words.slice(0, RULE_LETTERS)}…` : words;
      const button = element("button", "tree-rule", swatch(this.id, leaf.label ?? 0), element("span", "", shown));
      const told = this.nodes.told(leaf);
      if (told) button.lastChild.append(element("small", "", told));
      button.type = "button";
      button.dataset.treeRule = leaf.place;
      return element("li", "", button);
    }

    chooseRule(leaf) {
      const isChosen = this.picture.lit.has(leaf.place) && this.picture.lit.size === leaf.level;
      this.light(isChosen ? [] : this.nodes.path(leaf).map((node) => node.place));
    }

    markRules() {
      for (const button of this.part("rules").querySelectorAll("[data-tree-rule]")) {
        button.setAttribute("aria-pressed", String(this.picture.lit.has(Number(button.dataset.treeRule))));
      }
    }

    // Details, legend, table.

    tell(node) {
      const { nodes, words } = this;
      const facts = element("dl", "facts");
      const fact = (name, value) => value && facts.append(element("dt", "", name), element("dd", "", value));
      fact(words.path, nodes.pathWords(node));
      fact(nodes.isSplit(node) ? words.asks : words.answers, nodes.name(node));
      const list = element("ul", "tree-counts");
      for (const [label, count] of nodes.present(node)) {
        const share = node.records ? ` (${nodes.percent(count / node.records)}\u00a0%)` : "";
        list.append(element("li", "", swatch(this.id, label), ` ${nodes.document.classes[label]} ${spelled(count)}${share}`));
      }
      const told = nodes.told(node);
      if (told) facts.append(element("dt", "", words.training), element("dd", "", told, list));
      if (nodes.isSplit(node)) fact(words.otherwise, node.votes ? words.in_parts : nodes.answer(node));
      fact(words.place, String(node.place));
      this.part("details").replaceChildren(facts);
    }

    legend() {
      this.nodes.document.classes.forEach((name, label) => {
        this.part("legend").append(element("li", "", swatch(this.id, label), ` ${name}`));
      });
    }

    /** The rows that the server left out, when the table is opened. */
    restOfTable() {
      const body = this.part("rows");
      if (!this.part("twin").open || body.rows.length === this.nodes.all.length) return;
      for (const node of this.nodes.reading.slice(body.rows.length)) body.append(this.row(node));
      this.markRows();
    }

    row(node) {
      const indent = element("span", "tree-indent");
      indent.dataset.level = Math.min(node.level, 12);
      const name = this.nodes.isSplit(node) ? this.nodes.name(node) : element("strong", "", this.nodes.name(node));
      const head = element("th", "figure", String(node.place));
      head.scope = "row";
      const row = element(
        "tr", "", head, element("td", "figure", String(node.parent ?? "")),
        element("td", "", indent, node.branch || ""), element("td", "", name),
      );
      if (this.part("rows").dataset.treeFigures) {
        row.append(element("td", "figure", node.records === undefined ? "" : spelled(node.records)), element("td", "", this.nodes.perClass(node)));
      }
      row.dataset.row = node.place;
      return row;
    }

    markRows() {
      for (const row of this.part("rows").rows) {
        const isLit = this.picture.lit.has(Number(row.dataset.row));
        row.classList.toggle("lit", isLit);
        const mark = row.querySelector(".tree-mark");
        if (!isLit) mark?.remove();
        else if (!mark) row.cells[3].append(" ", element("em", "tree-mark", this.words.on_path));
      }
    }
  }

  function start(root) {
    for (const host of root.querySelectorAll("[data-tree]")) {
      if (!known.has(host)) known.set(host, new TreeView(host));
    }
  }

  globalThis.PrivetTree = { of: (host) => known.get(host), start };
  document.addEventListener("DOMContentLoaded", () => {
    start(document);
    document.body.addEventListener("htmx:load", (event) => start(event.target.parentElement || document));
  });
})();
