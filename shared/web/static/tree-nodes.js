// A tree's document as nodes, and what they are called. No drawing here. All words come from the page.
"use strict";

(() => {
  const SIGNS = /^(<= |> |= |!= )/;

  /** Fill the places of a text: `{n} records`. */
  function filled(text, places) {
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in places ? String(places[name]) : whole));
  }

  const NUMBERS = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

  /** A number for people: `10,933`. */
  function spelled(number) {
    return NUMBERS.format(number);
  }

  /** For comparing what people type with names: case and width of letters do not count. */
  function folded(text) {
    return text.normalize("NFKC").toLocaleLowerCase();
  }

  class Nodes {
    /** `document`: privet-tree-view/1 of shared/web/tree_view.py. `words`: the page's texts. */
    constructor(document, words) {
      this.document = document;
      this.words = words;
      this.all = document.nodes.map((entry, place) => ({ ...entry, place, kids: [], level: 1, below: 0 }));
      for (const node of this.all) {
        if (node.parent === undefined) continue;
        node.above = this.all[node.parent];
        node.level = node.above.level + 1;
        node.above.kids.push(node);
      }
      for (let place = this.all.length - 1; place > 0; place -= 1) {
        this.all[place].above.below += this.all[place].below + 1;
      }
      this.root = this.all[0];
      this.records = this.root.records || 0;
      this.reading = this.readingOrder();
    }

    readingOrder() {
      const found = [];
      const pending = [this.root];
      while (pending.length) {
        const node = pending.pop();
        found.push(node);
        for (let at = node.kids.length - 1; at >= 0; at -= 1) pending.push(node.kids[at]);
      }
      return found;
    }

    isSplit(node) {
      return node.attribute !== undefined;
    }

    answer(node) {
      return node.label === null ? this.words.no_answer : this.document.classes[node.label];
    }

    /** The question of a split, the class of a leaf. */
    name(node) {
      return this.isSplit(node) ? `${this.document.attributes[node.attribute]}?` : this.answer(node);
    }

    /** What leads from the node above to this one: `temperature > 37.5`. */
    condition(node) {
      const name = this.document.attributes[node.above.attribute];
      return SIGNS.test(node.branch) ? `${name} ${node.branch}` : `${name} = ${node.branch}`;
    }

    /** From the root to the node, both included. */
    path(node) {
      const found = [];
      for (let at = node; at; at = at.above) found.push(at);
      return found.reverse();
    }

    pathWords(node) {
      const steps = this.path(node).slice(1).map((each) => this.condition(each));
      return steps.join(` ${this.words.and} `) || this.words.any_record;
    }

    ruleWords(leaf) {
      return filled(this.words.rule, { conditions: this.pathWords(leaf), answer: this.answer(leaf) });
    }

    /** How many training records, or what share, as far as the study shows it; else nothing. */
    told(node) {
      if (node.records !== undefined) {
        return node.records === 1 ? this.words.one_record : filled(this.words.records, { n: spelled(node.records) });
      }
      return node.share === undefined ? "" : filled(this.words.share, { percent: this.percent(node.share) });
    }

    percent(share) {
      return (100 * share).toFixed(1);
    }

    /** [class index, records] of the classes that occur. */
    present(node) {
      return (node.counts || []).map((count, label) => [label, count]).filter(([, count]) => count > 0);
    }

    /** `a 30, b 2`. */
    perClass(node) {
      if (node.counts) return this.present(node).map(([c, n]) => `${this.document.classes[c]} ${spelled(n)}`).join(", ");
      return node.share === undefined ? "" : `${this.answer(node)} ${this.percent(node.share)} %`;
    }

    /** All that a screen reader says of a node but its level. */
    label(node) {
      const branch = node.above ? `${node.branch}: ` : "";
      const parts = [branch + this.name(node), this.told(node)];
      if (this.present(node).length > 1) parts.push(this.perClass(node));
      return parts.filter(Boolean).join(", ");
    }

    /** Places whose question, class or branch has the text in it, in reading order. */
    find(text) {
      const wanted = folded(text.trim());
      if (!wanted) return [];
      return this.reading.filter((node) => folded(`${node.branch || ""}\n${this.name(node)}`).includes(wanted));
    }

    /** What a first look opens: all of a small tree, else whole levels while no more than `most` ends show. */
    firstLook(most) {
      const open = new Set();
      let level = [this.root];
      let ends = 1;
      while (level.length) {
        const splits = level.filter((node) => node.kids.length);
        const below = splits.flatMap((node) => node.kids);
        ends += below.length - splits.length;
        if (ends > most && open.size && this.all.length > 2 * most) break;
        for (const node of splits) open.add(node.place);
        level = below;
      }
      return open;
    }
  }

  globalThis.PrivetTreeNodes = { Nodes, filled, spelled };
})();
