// Notes a transcription's token usage, if the provider states it in tokens (Q18).
import { isObject } from '../../proxy/turn/json/json.ts';
import { asTokens } from '../../proxy/turn/reply/stated-usage.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSCRIPTIONS } from '../route-groups.ts';

export const transcriptionUsage = rule({
  name: 'transcription-usage',
  routes: TRANSCRIPTIONS,
  answer(transcript, _memory, turn) {
    const stated = isObject(transcript.usage) ? transcript.usage : {};
    for (const field of ['input_tokens', 'output_tokens'] as const) {
      const count = asTokens(stated[field]);
      if (count !== undefined) turn.note(field, count);
    }
    return transcript;
  },
});
