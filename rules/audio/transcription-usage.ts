// Notes a transcription's token usage, if the provider states it in tokens (Q18).
import { asCount, isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSCRIPTIONS } from '../route-groups.ts';

export const transcriptionUsage = rule({
  name: 'transcription-usage',
  routes: TRANSCRIPTIONS,
  answer(transcript, _memory, turn) {
    const stated = isObject(transcript.usage) ? transcript.usage : {};
    for (const field of ['input_tokens', 'output_tokens'] as const) {
      const count = asCount(stated[field]);
      if (count !== undefined) turn.note(field, count);
    }
    return transcript;
  },
});
