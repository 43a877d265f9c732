// The two dialects over the wire: the rewrite in Lite, the unchanged body in Full, and the members of every dispatch.
import { JSON_MENTION, LIFT, SYSTEM_ROLE } from '../../rules/dialect/lift.cases.ts';
import { FULL_PASS, IMAGE_DETAIL, LITE_REWRITE } from '../../rules/dialect/lite.cases.ts';
import { BACKEND_SHAPE, SHAPES, TOOL_CHOICE } from '../../rules/dialect/shape.cases.ts';
import { fromRules, type WireCase } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

/** The rows about these clauses; a row of a decision is listed with the clause that it concerns. */
const rewrites = (...clauses: readonly string[]): readonly WireCase[] =>
  fromRules(LITE_REWRITE.filter(({ name }) => clauses.some((clause) => name.startsWith(`[${clause}]`))));

testTable('[F1.1] texts of system and developer messages become instructions in Full', fromRules([...LIFT, ...JSON_MENTION]));
testTable('[F2.6] system messages that stay in input are developer messages', fromRules(SYSTEM_ROLE));
testTable('[F1.4] every dispatch has reasoning and its include entry', fromRules(BACKEND_SHAPE));
testTable('[F1.4] members that a dialect edits must have the shape that it edits', fromRules(SHAPES));
testTable('[F2.5] Lite sends tools as the first input item', rewrites('F2.5'));
testTable('[F2.6] Lite sends instructions as a developer message after them', rewrites('F2.6'));
testTable('[F2.7] Lite forces parallel tool calls off', rewrites('F2.7'));
testTable('[F2.8] Lite forces the reasoning context', rewrites('F2.8'));
testTable('[F2.9] Lite drops the detail of images', fromRules(IMAGE_DETAIL));
testTable('[F2.10] a body in Lite shape is not changed', rewrites('F2.10', 'Q33'));
testTable('[F2.11] Full forwards as sent', fromRules(FULL_PASS));
testTable('[F2.12] a map-shaped tool_choice is refused where the model is served Lite', fromRules(TOOL_CHOICE));
testTable('[F2.15] the public surface is rewritten like native routes', rewrites('F2.15'));
