// Changes of a key's policies in the layouts that people write: each changes only what it names.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { editConfig } from '../../../../proxy/config/file/edits/edit-config.ts';
import type { KeyPolicyChanges } from '../../../../proxy/config/file/edits/key-policy-edits.ts';
import { fileWith, HASH, SMALL } from '../../files.ts';

const HEAD = SMALL.slice(0, SMALL.indexOf('keys:'));

const CASES: readonly { readonly what: string; readonly row: string; readonly changes: KeyPolicyChanges; readonly after: string }[] = [
  {
    what: 'a row in braces gets limits and models',
    row: `  - { id: ci, pool: team, secret_sha256: [${HASH}] } # the only one\n`,
    changes: { limits: { requests_per_minute: 5, concurrent: 2 }, models: ['a'] },
    after: `  - { id: ci, pool: team, secret_sha256: [${HASH}], limits: { requests_per_minute: 5, concurrent: 2 }, models: [a] } # the only one\n`,
  },
  {
    what: 'limits in braces lose one and change another',
    row: `  - id: ci\n    pool: team\n    secret_sha256: [${HASH}]\n    limits: { requests_per_minute: 5, tokens_per_day: 9 } # agreed\n`,
    changes: { limits: { requests_per_minute: null, tokens_per_day: 10 } },
    after: `  - id: ci\n    pool: team\n    secret_sha256: [${HASH}]\n    limits: { tokens_per_day: 10 } # agreed\n`,
  },
  {
    what: 'the last limit leaves no limit, and the comment of the section',
    row: `  - id: ci\n    pool: team\n    limits: # agreed\n      usd_per_day: 5 # USD\n    secret_sha256: [${HASH}]\n`,
    changes: { limits: { usd_per_day: null } },
    after: `  - id: ci\n    pool: team\n    limits: {} # agreed\n    secret_sha256: [${HASH}]\n`,
  },
  {
    what: 'one effort policy replaces the other',
    row: `  - id: ci\n    pool: team\n    reasoning_effort:\n      always: low # for all\n    secret_sha256: [${HASH}]\n`,
    changes: { reasoning_effort: { allow_up_to: 'high' } },
    after: `  - id: ci\n    pool: team\n    reasoning_effort:\n      allow_up_to: high\n    secret_sha256: [${HASH}]\n`,
  },
  {
    what: 'a key may have no model at all',
    row: `  - id: ci\n    pool: team\n    models:\n      - a\n      - b # two\n    secret_sha256: [${HASH}]\n`,
    changes: { models: [] },
    after: `  - id: ci\n    pool: team\n    models: []\n    secret_sha256: [${HASH}]\n`,
  },
];

for (const { what, row, changes, after } of CASES) {
  test(what, async (context) => {
    const path = fileWith(context, `${HEAD}keys:\n${row}`);
    const order = { do: 'key.change', id: 'ci', changes } as const;
    assert.deepEqual(await editConfig(path, order), { changed: true });
    assert.equal(readFileSync(path, 'utf8'), `${HEAD}keys:\n${after}`);
    assert.deepEqual(await editConfig(path, order), { changed: false }, 'it is so already');
  });
}
