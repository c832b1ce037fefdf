// The part of the time that all charts show, and what is selected or highlighted in them.

class View {
  constructor(from, to) {
    this.whole = {from, to};
    this.from = from;
    this.to = to;
    this.selected = null;  // {run, kind: "task" | "copy" | "datum", number}
    this.emphasis = null;  // {run, tasks, copies: 1 of those that are highlighted, label}
    this.path = null;      // the run whose critical path is drawn
    this.moved = [];
    this.marked = [];
    this.pending = false;
  }
  get length() { return this.to - this.from; }

  show(from, to) {
    const least = Math.max(1, (this.whole.to - this.whole.from) * 1e-9);
    let length = Math.min(Math.max(to - from, least), this.whole.to - this.whole.from);
    const middle = (from + to) / 2;
    from = Math.min(Math.max(middle - length / 2, this.whole.from), this.whole.to - length);
    if (from === this.from && from + length === this.to) return;
    this.from = from;
    this.to = from + length;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const listener of this.moved) listener();
    });
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  pan(share) {
    const step = this.length * share;
    this.show(this.from + step, this.to + step);
  }
  all() { this.show(this.whole.from, this.whole.to); }
  // Shows the item large enough to be seen, with its surroundings.
  showItem(from, to) {
    const length = Math.max((to - from) * 12, (this.whole.to - this.whole.from) * 1e-7);
    const middle = (from + to) / 2;
    if (from < this.from || to > this.to || to - from < this.length / 60) {
      this.show(middle - length / 2, middle + length / 2);
    }
  }

  select(item) {
    this.selected = item;
    this.changed();
  }
  emphasise(emphasis) {
    this.emphasis = emphasis;
    this.changed();
  }
  changed() {
    for (const listener of this.marked) listener();
  }
}
