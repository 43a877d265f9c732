// THE ORDER that the contract requires: pairs of rules, each with its reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Body } from '../../proxy/turn/turn.ts';
import { RULES } from '../../rules/index.ts';
import { chainOf, turnOf } from '../support/turns/turn.ts';

const NAMES = RULES.map(({ name }) => name);

/** Each entry is `before > after: why`. */
const PAIRS: readonly string[] = [
  'authenticate > route-status: [AU1] unsupported rows need a key as well',
  'authenticate > image-permission: [AU5] image routes authenticate first',
  'route-status > model-access: [E1] an unsupported row answers before anything of the turn is looked at',
  'image-permission > model-access: [F6.1] the permission before the body',
  'image-permission > image-model: [F6.1] the permission before the body',
  'image-model > translation: [Q4] the model, then the shape of the body',
  'marker-header > lite-marker: [F2.4] a client’s marker is removed before ours is added',
  'model-access > effort-policy: [F4.4] the denial of a model before the effort policy',
  'model-access > serving-mode: [SM7] the mode is that of the model that was found',
  'input-lists > remote-mcp: [F1.6] rules that search lists get lists',
  'web-search-names > tool-types: [Q16] the list of types has the plain name alone',
  'web-search-names > tool-choice: [Q16] a choice is looked up by the plain name',
  'remote-mcp > item-references: [Q15] items are removed when all refusals have named them by their index',
  'tool-types > item-references: [Q15] items are removed when all refusals have named them by their index',
  'audio > item-references: [Q15] items are removed when all refusals have named them by their index',
  'file-inputs > item-references: [Q15] items are removed when all refusals have named them by their index',
  'remote-mcp > tool-types: [F1.3] the refusal of both surfaces comes first',
  'tool-types > custom-tools: [F5.2] the type before the shape of that type',
  'custom-tools > tool-names: [F5.2] names are compared after the check that they are names',
  'tool-names > tool-choice: [F5.3] a choice is looked up among unique names',
  'lite-tool-choice > tool-choice: [F2.12] Lite takes no map, whether or not it resolves',
  'strict-schemas > strict-repair: [F5.7] a root is judged as the client wrote it',
  'strict-schemas > lower-schemas: [F5.7] a root is judged as the client wrote it',
  'strict-repair > lower-schemas: [F5.6] type values are judged as the client wrote them',
  'reasoning-context > lite-rewrite: [F1.7] an invalid context is refused in Lite too, which forces its own',
  'namespace-restoration > lite-rewrite: [F5.4] declared names are read before they move',
  'dialect-shape > lift-instructions: [F1.1] what a dialect edits has the shape that it edits',
  'dialect-shape > lite-rewrite: [F2.5] what a dialect edits has the shape that it edits',
  'dialect-shape > effort-policy: [Q4] shape rules, then effort',
  'audio > effort-policy: [Q4] shape rules, then effort',
  'strict-repair > effort-policy: [Q4] shape rules, then effort',
  'tool-choice > effort-policy: [Q4] shape rules, then effort',
  'effort-policy > output-tokens: [Q4] effort, then output tokens',
  'output-tokens > eligibility: [Q4] output tokens, then eligibility',
  'effort-policy > effort-alias: [F4.7] the policy distinguishes minimal from low before they become one',
  'lower-schemas > lite-rewrite: [F5.1] tools that move into input are lowered',
  'lift-instructions > lite-rewrite: [F1.1] each in its own mode',
  'input-lists > compaction-trigger: [F3.1] its place is that in a list',
  'compaction-trigger > lite-rewrite: [F2.15] the rewrite gets only the conversation',
  'compaction-replay > item-references: [F3.4] items are removed when all refusals have named them by their index',
  'lite-rewrite > compaction-projection: [F2.15] compact routes are rewritten before their own projection',
  'compaction-projection > drop-fields: [Q27] an account also drops fields that the projection adds',
  'eligibility > request-compression: [F7.1] a turn that is refused is not compressed',
  'item-references > request-compression: [Q15] refusals name items as the client sent them',
  'effort-policy > backend-shape: [F1.4] reasoning is edited',
  'lite-rewrite > backend-shape: [F1.4] the rewrite comes before the presence of members is ensured',
  'model-mapping > lite-marker: [F2.1] the marker is the last edit',
  'known-fields > drop-fields: [Q35] what an account keeps it may not drop',
  'drop-fields > lite-marker: [F2.2] no setting of an account drops it',
  'model-access > translation: [Q4] the model before the content of the body',
  'lift-instructions > system-role: [F1.1] lifted texts have no role any more',
  'lift-instructions > json-mention: [F1.1] lifted texts are read',
  'transcription-fields > transcription-lists: [Q23] a field is known before its list is read',
  'language-detection > transcription-usage: [Q18] usage is read before any other rule has edited the reply',
  // Replies pass the rules in reverse order, so the later rule gets an event first.
  'fill-output > namespace-restoration: [Q15] items are collected as clients get them',
  'public-user > usage: [Q18] usage is read before any other rule has edited the reply',
  'public-model > usage: [Q18] usage is read before any other rule has edited the reply',
  'compaction-answer > usage: [Q18] an invalid compaction is billed as well',
  'fill-output > usage: [Q18] usage is read before any other rule has edited the reply',
  'closing-error > fill-output: [F1.8] the closing error comes after all edits',
];

for (const pair of PAIRS) {
  const [, before = '', after = '', why = ''] = /^(\S+) > (\S+): (.+)$/.exec(pair) ?? [];
  test(`${why}: ${before} before ${after}`, () => {
    for (const name of [before, after]) assert.ok(NAMES.includes(name), `${name} is a rule`);
    assert.ok(NAMES.indexOf(before) < NAMES.indexOf(after));
  });
}

test('every rule has a name of its own, in kebab case', () => {
  assert.equal(new Set(NAMES).size, NAMES.length);
  for (const name of NAMES) assert.match(name, /^[a-z]+(-[a-z]+)*$/);
});

const touched = (): never => assert.fail('the body was touched');
const UNTOUCHED: Body = new Proxy({}, { get: touched, set: touched, has: touched, ownKeys: touched, deleteProperty: touched });

test('[F7.1] compression and the later edits run after every rule that may refuse the turn', () => {
  const edits = RULES.filter(({ edit }) => edit);
  assert.deepEqual(
    edits.map(({ name }) => name),
    ['request-compression', 'lite-rewrite', 'backend-shape'],
  );
  // The request phases of these rules read no body, so they refuse none.
  for (const kind of ['responses', 'public-responses'] as const) chainOf(edits, turnOf({ kind })).request({ body: UNTOUCHED });
});

test('[F6.1] no rule before the look-up of the model reads or edits a body', () => {
  const before = RULES.slice(0, NAMES.indexOf('model-access'));
  for (const kind of ['responses', 'compact', 'public-responses', 'chat'] as const)
    chainOf(before, turnOf({ kind })).request({ body: UNTOUCHED });
});

test('[D4] [Q22] the requests of Chat and images are translated before any rule but that of the model reads them', () => {
  const before = RULES.slice(0, NAMES.indexOf('translation'));
  for (const kind of ['chat', 'public-image', 'public-image-edit'] as const) {
    const reading = before.filter(
      ({ name, routes, request }) => name !== 'fill-output' && request && (routes === '*' || routes.includes(kind)),
    );
    const model = kind === 'chat' ? 'model-access' : 'image-model';
    assert.deepEqual(
      reading.map(({ name }) => name),
      [model, 'serving-mode'],
      kind,
    );
  }
});

test('[AA93] in a Pool of agent accounts the rule of capsules reads no body', () => {
  const rules = RULES.filter(({ name }) => name === 'capsules');
  for (const kind of ['responses', 'public-responses', 'compact', 'chat'] as const)
    chainOf(rules, turnOf({ kind })).request({ body: UNTOUCHED });
  const other = { ...turnOf({ kind: 'responses' }), hasApiAccounts: true };
  assert.throws(() => chainOf(rules, other).request({ body: UNTOUCHED }), /touched/);
});
