// Finds the first stop sequence in a text that comes in pieces, regardless of where it is divided (AM47, AM48, AM50).

/** A node of the automaton of Aho and Corasick. It represents a prefix of one or more sequences. */
interface Node {
  /** The number of characters of the prefix. */
  readonly depth: number;
  readonly next: Map<number, Node>;
  /** The node of the longest suffix of this prefix that is itself a prefix. The root has none. */
  fallback: Node | undefined;
  /** The longest sequence that ends at this node. */
  match: string | undefined;
}

/** The result of reading a piece of text. */
export interface Scanned {
  /** The text that can be shown, because no stop sequence can begin in it. */
  readonly text: string;
  /** The sequence that the text reached. The matcher reads nothing after it. */
  readonly match?: string;
}

/** The stop sequences of one turn. */
export class StopSequences {
  readonly #root: Node;

  constructor(sequences: readonly string[]) {
    this.#root = node(0);
    for (const sequence of sequences) this.#insert(sequence);
    this.#link();
  }

  /** The matcher of one text block. A sequence cannot extend over two blocks. */
  matcher(): StopMatcher {
    return new StopMatcher(this.#root);
  }

  #insert(sequence: string): void {
    let at = this.#root;
    for (let i = 0; i < sequence.length; i++) {
      const unit = sequence.charCodeAt(i);
      let next = at.next.get(unit);
      if (!next) {
        next = node(at.depth + 1);
        at.next.set(unit, next);
      }
      at = next;
    }
    at.match = sequence;
  }

  #link(): void {
    const queue: Node[] = [this.#root];
    for (let parent = queue.shift(); parent; parent = queue.shift()) {
      for (const [unit, child] of parent.next) {
        child.fallback = parent === this.#root ? this.#root : step(this.#root, parent.fallback ?? this.#root, unit);
        // A sequence that is a suffix of a longer prefix ends here too. A longer sequence that ends here takes precedence.
        child.match ??= child.fallback.match;
        queue.push(child);
      }
    }
  }
}

class StopMatcher {
  readonly #root: Node;
  #at: Node;
  /** The end of the text so far that may begin a sequence. */
  #held = '';

  constructor(root: Node) {
    this.#root = root;
    this.#at = root;
  }

  read(piece: string): Scanned {
    const text = this.#held + piece;
    for (let i = this.#held.length; i < text.length; i++) {
      this.#at = step(this.#root, this.#at, text.charCodeAt(i));
      const { match } = this.#at;
      if (match !== undefined) return { text: text.slice(0, i + 1 - match.length), match };
    }
    const shown = text.length - this.#at.depth;
    this.#held = text.slice(shown);
    return { text: text.slice(0, shown) };
  }

  /** Returns the text that was held back, if the block ends without a match. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}

const node = (depth: number): Node => ({ depth, next: new Map(), fallback: undefined, match: undefined });

/** The node of the longest prefix with which the text ends after one more character. */
function step(root: Node, from: Node, unit: number): Node {
  for (let at: Node | undefined = from; at; at = at.fallback) {
    const next = at.next.get(unit);
    if (next) return next;
  }
  return root;
}
