// Edits of the file's text change one setting and no other byte.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Edit, editText } from '../../../proxy/config/file/edit.ts';
import { EditError } from '../../../proxy/config/file/yaml-places.ts';

const CASES: readonly { readonly what: string; readonly before: string; readonly edit: Edit; readonly after: string }[] = [
  {
    what: 'a value is replaced, its comment kept',
    before: 'keys:\n  - id: a   # first\n    status:   active    # active, paused\n',
    edit: { set: ['keys', 0, 'status'], to: 'paused' },
    after: 'keys:\n  - id: a   # first\n    status:   paused    # active, paused\n',
  },
  {
    what: 'a quoted value is replaced whole',
    before: 'a: "x y" # c\nb: 1\n',
    edit: { set: ['a'], to: 'z' },
    after: 'a: z # c\nb: 1\n',
  },
  {
    what: 'a missing key is added below the last of its row',
    before: 'keys:\n  - id: a\n    pool: team # t\n\n  # next\n  - id: b\n',
    edit: { set: ['keys', 0, 'status'], to: 'paused' },
    after: 'keys:\n  - id: a\n    pool: team # t\n    status: paused\n\n  # next\n  - id: b\n',
  },
  {
    what: 'a missing key of a row in braces is added inside them',
    before: 'keys:\n  - { id: a, pool: team } # t\n',
    edit: { set: ['keys', 0, 'status'], to: 'paused' },
    after: 'keys:\n  - { id: a, pool: team, status: paused } # t\n',
  },
  {
    what: 'a missing mapping is added with its first key',
    before: 'pools:\n  - id: team\n    assignments:\n      - account: north # n\nkeys: []\n',
    edit: { set: ['pools', 0, 'serving_modes', 'model-a'], to: 'lite' },
    after: 'pools:\n  - id: team\n    assignments:\n      - account: north # n\n    serving_modes: { model-a: lite }\nkeys: []\n',
  },
  {
    what: 'an empty mapping gets its first key',
    before: 'modes: {} # none yet\n',
    edit: { set: ['modes', 'model-a'], to: 'lite' },
    after: 'modes: { model-a: lite } # none yet\n',
  },
  {
    what: 'a key without a value gets its value before the comment',
    before: 'modes: # none yet\nb: 1\n',
    edit: { set: ['modes', 'model-a'], to: 'lite' },
    after: 'modes: { model-a: lite } # none yet\nb: 1\n',
  },
  {
    what: 'a word that YAML would read as another type gets quotes',
    before: 'modes: { a: lite }\n',
    edit: { set: ['modes', '4.10'], to: 'true' },
    after: 'modes: { a: lite, "4.10": "true" }\n',
  },
  {
    what: 'a model id with a colon and a slash is a key like any other',
    before: 'modes:\n  a: lite\n',
    edit: { set: ['modes', 'vendor/model-a:beta'], to: 'full' },
    after: 'modes:\n  a: lite\n  vendor/model-a:beta: full\n',
  },
  {
    what: 'a key goes with its line',
    before: 'modes:\n  a: lite # why\n  b: full\nc: 1\n',
    edit: { remove: ['modes', 'a'] },
    after: 'modes:\n  b: full\nc: 1\n',
  },
  {
    what: 'the last key leaves an empty mapping, and its comment',
    before: 'modes: # per model\n  a: lite\nc: 1\n',
    edit: { remove: ['modes', 'a'] },
    after: 'modes: {} # per model\nc: 1\n',
  },
  {
    what: 'a key is removed from braces: the first, one in the middle, the last',
    before: 'modes: { a: lite, b: full, c: lite } # m\n',
    edit: { remove: ['modes', 'b'] },
    after: 'modes: { a: lite, c: lite } # m\n',
  },
  {
    what: 'the last key of several is removed with its comma',
    before: 'm: { a: x, b: y }\n',
    edit: { remove: ['m', 'b'] },
    after: 'm: { a: x }\n',
  },
  {
    what: 'a row of a list goes with its lines and the comments that are indented into it',
    before: 'keys:\n  - id: a\n  # of b\n  - id: b # second\n    status: paused\n    # until May\n  - id: c\nd: 1\n',
    edit: { remove: ['keys', 1] },
    after: 'keys:\n  - id: a\n  # of b\n  - id: c\nd: 1\n',
  },
  {
    what: 'the last row leaves an empty list, and the comment of the list',
    before: 'keys: # none\n  - id: a\nd: 1\n',
    edit: { remove: ['keys', 0] },
    after: 'keys: [] # none\nd: 1\n',
  },
  {
    what: 'a list at the indent of its key loses its last line',
    before: 'h:\n- one # 1\n- two\n',
    edit: { remove: ['h', 1] },
    after: 'h:\n- one # 1\n',
  },
  {
    what: 'a row is removed from brackets: the first one',
    before: 'h: [one, two, three] # h\n',
    edit: { remove: ['h', 0] },
    after: 'h: [two, three] # h\n',
  },
  { what: 'the last of several in brackets', before: 'h: [one, two]\n', edit: { remove: ['h', 1] }, after: 'h: [one]\n' },
  { what: 'the only one leaves empty brackets', before: 'h: [one]\n', edit: { remove: ['h', 0] }, after: 'h: []\n' },
  { what: 'the only key leaves empty braces', before: 'm: { a: x }\n', edit: { remove: ['m', 'a'] }, after: 'm: {}\n' },
  {
    what: 'a row is added below the last, past the comments that belong to it',
    before: 'keys:\n    - id: a\n      limits: {} # all:\n      #   tokens: 1\n\n# operators\noperators: []\n',
    edit: { append: ['keys'], row: { id: 'b', secret_sha256: ['ab', '12'] } },
    after:
      'keys:\n    - id: a\n      limits: {} # all:\n      #   tokens: 1\n    - id: b\n      secret_sha256: [ab, "12"]\n\n# operators\noperators: []\n',
  },
  {
    what: 'a first row turns empty brackets into a block',
    before: 'keys: [] # none\nb: 1\n',
    edit: { append: ['keys'], row: { id: 'a', pool: 'team' } },
    after: 'keys: # none\n  - id: a\n    pool: team\nb: 1\n',
  },
  {
    what: 'a missing list is added at the end',
    before: 'a: 1\nb:\n  - c # d',
    edit: { append: ['keys'], row: { id: 'a' } },
    after: 'a: 1\nb:\n  - c # d\nkeys:\n  - id: a',
  },
  {
    what: 'a hash is added to a list in brackets',
    before: 'h: [aa] # c\n',
    edit: { append: ['h'], row: 'bb' },
    after: 'h: [aa, bb] # c\n',
  },
  {
    what: 'a hash is added to a list of lines',
    before: 'k:\n  - h:\n      - aa # c\n    s: 1\n',
    edit: { append: ['k', 0, 'h'], row: 'bb' },
    after: 'k:\n  - h:\n      - aa # c\n      - bb\n    s: 1\n',
  },
  {
    what: 'a list whose dashes are not indented below its key keeps them there',
    before: 'keys:\n- id: a\nb: 1\n',
    edit: { append: ['keys'], row: { id: 'b', c: 1 } },
    after: 'keys:\n- id: a\n- id: b\n  c: 1\nb: 1\n',
  },
  {
    what: 'Windows line ends stay, in added lines too',
    before: 'keys:\r\n  - id: a\r\nb: 1\r\n',
    edit: { append: ['keys'], row: { id: 'b', c: 1 } },
    after: 'keys:\r\n  - id: a\r\n  - id: b\r\n    c: 1\r\nb: 1\r\n',
  },
  {
    what: 'a text block at the end of a row is not split',
    before: 'keys:\n  - id: a\n    note: |\n      one\n      two\n  - id: b\n',
    edit: { set: ['keys', 0, 'status'], to: 'paused' },
    after: 'keys:\n  - id: a\n    note: |\n      one\n      two\n    status: paused\n  - id: b\n',
  },
];

for (const { what, before, edit, after } of CASES) {
  test(what, () => assert.equal(editText(before, edit), after));
}

test('an edit in an unsupported layout is refused', () => {
  assert.throws(() => editText('? a\n: b: 1\n', { remove: ['a', 'b'] }), EditError);
  assert.throws(() => editText('rows:\n  - a: 1\n    b: 2\n', { remove: ['rows', 0, 'a'] }), EditError);
  assert.throws(() => editText('a:\n  - b\n', { set: ['a'], to: ['c'] }), EditError);
});

test('an edit of the shipped file changes only its own lines', () => {
  const before = readFileSync(new URL('../../../config.yaml', import.meta.url), 'utf8');
  const edits: readonly Edit[] = [
    { append: ['keys'], row: { id: 'ci', pool: 'team', secret_sha256: ['ab'], status: 'active' } },
    { append: ['operators'], row: { id: 'eve', token_sha256: ['cd'], owns: ['team'] } },
    { append: ['keys', 0, 'secret_sha256'], row: 'ef' },
  ];
  const after = edits.reduce(editText, before).split('\n');
  const kept = before.split('\n');
  const added = after.filter((line) => !kept.includes(line));
  assert.deepEqual(added, [
    '      - ef',
    '  - id: ci',
    '    pool: team',
    '    secret_sha256: [ab]',
    '    status: active',
    '  - id: eve',
    '    token_sha256: [cd]',
    '    owns: [team]',
  ]);
  assert.deepEqual(
    after.filter((line) => !added.includes(line)),
    kept,
  );
});
