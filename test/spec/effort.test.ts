// Effort and output-token policies of keys over the wire, in the order of the checks.
import { MODEL_ACCESS } from '../rules/access/model-access.cases.ts';
import { ALIASES, ALLOW_UP_TO, ALWAYS, POLICY_THEN_ALIAS, UNRESTRICTED } from '../rules/effort/effort.cases.ts';
import { OUTPUT_TOKENS } from '../rules/effort/output-tokens.cases.ts';
import { fromRules } from '../support/wire/case.ts';
import { playTable } from '../support/wire/play.ts';

playTable('[RE1] an unrestricted key changes nothing', fromRules(UNRESTRICTED));
playTable('[RE2] a ceiling permits the known efforts of the model below it', fromRules(ALLOW_UP_TO));
playTable('[RE3] always applies one effort', fromRules(ALWAYS));
playTable('[F4.7] minimal and ultra go out as low and max', fromRules(ALIASES));
playTable('[F4.7] policy tells minimal from low before that', fromRules(POLICY_THEN_ALIAS), { again: 'differs' });
playTable('[CR1] a key caps output tokens', fromRules(OUTPUT_TOKENS));
playTable('[CR1] a key has its models, and denial comes before effort', fromRules(MODEL_ACCESS), { model: 'as-written' });
