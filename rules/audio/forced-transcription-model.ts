// Sets the model of a native transcription to the deployment's transcription model, whatever its client names (C3, Q4, Q23).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { StreamedPart } from '../../proxy/turn/json/form.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { allowsModel } from '../helpers/key-policy.ts';

export const forcedTranscriptionModel = rule({
  name: 'forced-transcription-model',
  routes: ['transcribe'],
  /** The model is known before the body, so that a key that may not use it costs no upload. */
  admit(turn) {
    const { model } = turn.transcription;
    if (!allowsModel(turn.key, model)) throw new Refusal('model_not_allowed', { param: 'model' });
    turn.note('model', model);
  },
  parts({ transcription: { model } }) {
    const forced: StreamedPart = { kind: 'field', name: 'model', value: model };
    let isSent = false;
    return {
      part(part) {
        const rest = part.name === 'model' ? [] : [part];
        if (isSent) return rest;
        isSent = true;
        return [forced, ...rest];
      },
    };
  },
  explain: ({ key }) => (key?.models ? `allows: ${key.models.join(', ') || 'nothing'}` : undefined),
});
