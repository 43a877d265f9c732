// Effort and output-token policies of keys over the wire, in the order of the checks.
import { MODEL_ACCESS } from '../../rules/access/model-access.cases.ts';
import type { Case } from '../../rules/dialect/case.ts';
import { ALIASES, ALLOW_UP_TO, ALWAYS, POLICY_THEN_ALIAS, UNRESTRICTED } from '../../rules/effort/effort.cases.ts';
import { OUTPUT_TOKENS } from '../../rules/effort/output-tokens.cases.ts';
import { fromRules, type WireCase } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

/** The rows about native turns, changed to the public surface. */
const onPublic = (rows: readonly Case[]): readonly WireCase[] =>
  fromRules(
    rows
      .filter(({ options }) => options?.kind === undefined)
      .map((row): Case => ({ ...row, options: { ...row.options, kind: 'public-responses' } })),
  );

testTable('[RE1] an unrestricted key changes nothing', fromRules(UNRESTRICTED));
testTable('[RE2] a ceiling permits the known efforts of the model below it', fromRules(ALLOW_UP_TO));
testTable('[RE3] always applies one effort', fromRules(ALWAYS));
testTable('[F4.7] minimal and ultra are sent as low and max', fromRules(ALIASES));
testTable('[F4.7] the policy distinguishes minimal from low before that', fromRules(POLICY_THEN_ALIAS), { again: 'differs' });
testTable('[CR1] a key caps output tokens', fromRules(OUTPUT_TOKENS));
testTable('[CR1] a key has its models, and denial comes before effort', fromRules(MODEL_ACCESS), { model: 'as-written' });
testTable('[F4.1] the effort policy covers /v1/responses like native turns', onPublic([...UNRESTRICTED, ...ALLOW_UP_TO, ...ALWAYS]));
testTable('[CR1] the cap of output tokens covers /v1/responses like native turns', onPublic(OUTPUT_TOKENS));
