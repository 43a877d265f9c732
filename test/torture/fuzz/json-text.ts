// JSON as a tree that can also contain what no parser returns: repeated members, and numbers and strings in unusual notation.

/** Text that is written unchanged. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as a list of members, whose names may repeat. */
export class Members {
  readonly entries: readonly (readonly [name: string, value: Node])[];

  constructor(entries: readonly (readonly [string, Node])[]) {
    this.entries = entries;
  }
}

export type Node = null | boolean | number | string | Raw | Members | readonly Node[];

/** @param json a result of `JSON.parse` */
export function nodeOf(json: unknown): Node {
  if (Array.isArray(json)) return json.map(nodeOf);
  if (typeof json === 'object' && json !== null) return new Members(Object.entries(json).map(([name, value]) => [name, nodeOf(value)]));
  return json as Node;
}

export function textOf(node: Node): string {
  if (node instanceof Raw) return node.text;
  if (node instanceof Members) return `{${node.entries.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(',')}}`;
  if (Array.isArray(node)) return `[${node.map(textOf).join(',')}]`;
  return JSON.stringify(node);
}

/** The place of a node in a tree, as indexes of members and elements. */
export type Place = readonly number[];

export function* placesIn(node: Node, at: Place = []): Generator<Place> {
  yield at;
  const children = node instanceof Members ? node.entries.map(([, value]) => value) : Array.isArray(node) ? node : [];
  for (const [i, child] of children.entries()) yield* placesIn(child, [...at, i]);
}

/** The tree with a changed node at this place. Undefined removes the node. */
export function changed(node: Node, [index, ...rest]: Place, change: (old: Node) => Node | undefined): Node | undefined {
  if (index === undefined) return change(node);
  if (node instanceof Members) {
    return new Members(
      node.entries.flatMap(([name, value], i) => {
        const next = i === index ? changed(value, rest, change) : value;
        return next === undefined ? [] : [[name, next] as const];
      }),
    );
  }
  if (!Array.isArray(node)) return node;
  return node.flatMap((value: Node, i) => {
    const next = i === index ? changed(value, rest, change) : value;
    return next === undefined ? [] : [next];
  });
}
