// Chat bodies over the wire, on both paths: their translation, their refusals, and every policy. The tables of Responses have their own
// suite, so the tests of every day take a sample of them.
import { MODEL_ACCESS } from '../../rules/access/model-access.cases.ts';
import { CHAT_MESSAGES, CHAT_PARAMETERS, CHAT_TEXT, CHAT_TOOL_CHOICE, CHAT_TOOLS } from '../../rules/chat/chat.cases.ts';
import { LIFT } from '../../rules/dialect/lift.cases.ts';
import { FULL_PASS, IMAGE_DETAIL, LITE_REWRITE } from '../../rules/dialect/lite.cases.ts';
import { BACKEND_SHAPE, TOOL_CHOICE } from '../../rules/dialect/shape.cases.ts';
import { ALIASES, ALLOW_UP_TO, ALWAYS, POLICY_THEN_ALIAS, UNRESTRICTED } from '../../rules/effort/effort.cases.ts';
import { OUTPUT_TOKENS } from '../../rules/effort/output-tokens.cases.ts';
import { AUDIO } from '../../rules/input/input.cases.ts';
import { LOWERED_TOOLS } from '../../rules/tools/lowering.cases.ts';
import { LOOSE_PARAMETERS, STRICT_FORMATS, STRICT_PARAMETERS } from '../../rules/tools/strict.cases.ts';
import { sampleOf } from '../../support/sample.ts';
import { fromRules, fromTools, type WireCase } from '../../support/wire/case.ts';
import { onChat } from '../../support/wire/chat-shape.ts';
import { testTable } from '../../support/wire/table.ts';

const sampledOnChat = (table: readonly WireCase[]): readonly WireCase[] => {
  const cases = onChat(table);
  return sampleOf(cases, cases.slice(0, 1));
};

testTable('[Q24] parameters of Chat are sent, ignored, or refused', fromTools(CHAT_PARAMETERS));
testTable('[Q24] structured output and verbosity become text', fromTools(CHAT_TEXT));
testTable('[D4] messages become input items', fromTools(CHAT_MESSAGES));
testTable('[F5.5] tools become flat', fromTools(CHAT_TOOLS));
testTable('[F5.5] tool choices become flat', fromTools(CHAT_TOOL_CHOICE));

testTable('[F4.1] the effort policy covers Chat', sampledOnChat(fromRules([...UNRESTRICTED, ...ALLOW_UP_TO, ...ALWAYS])));
testTable('[F4.7] minimal and ultra are sent as low and max on Chat', sampledOnChat(fromRules([...ALIASES, ...POLICY_THEN_ALIAS])));
testTable('[CR1] the cap of output tokens covers Chat', sampledOnChat(fromRules(OUTPUT_TOKENS)));
testTable('[CR1] a key has its models on Chat, and denial comes before effort', sampledOnChat(fromRules(MODEL_ACCESS)), {
  model: 'as-written',
});
testTable('[F2.12] a map-shaped tool_choice of Chat is refused where the model is served Lite', sampledOnChat(fromRules(TOOL_CHOICE)));
testTable('[F2.15] Chat is rewritten for Lite like native turns', sampledOnChat(fromRules([...LITE_REWRITE, ...IMAGE_DETAIL])));
testTable('[F2.11] Chat is sent unchanged in Full', sampledOnChat(fromRules(FULL_PASS)));
testTable('[F1.1] system and developer texts of Chat become instructions', sampledOnChat(fromRules(LIFT)));
testTable('[F1.4] every Chat dispatch has reasoning and its include entry', sampledOnChat(fromRules(BACKEND_SHAPE)));
testTable('[F1.2] audio of Chat is checked before anything is dispatched', sampledOnChat(fromTools(AUDIO)));
testTable('[F5.1] loose schemas of Chat are lowered', sampledOnChat(fromTools(LOWERED_TOOLS)));
testTable(
  '[F5.7] strict schemas of Chat have a direct object root',
  sampledOnChat(fromTools([...STRICT_FORMATS, ...STRICT_PARAMETERS, ...LOOSE_PARAMETERS])),
);
