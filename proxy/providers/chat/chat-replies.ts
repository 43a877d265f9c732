// The decoding of replies of Chat accounts: chunks become Responses events, and the answer to a request for a summary becomes a compaction.
import { asList, isObject, type JsonObject } from '../../turn/json/json.ts';
import { Adaptations } from '../../turn/provider/adapted.ts';
import { apiAccountOf } from '../../turn/provider/api-account.ts';
import type { EventHandler } from '../../turn/provider/provider-replies.ts';
import type { EncodedAttempt } from '../../turn/provider/provider-requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { SummaryReply } from '../api-accounts/compaction/summary-reply.ts';
import { isSummary } from '../api-accounts/compaction/summary-request.ts';
import { ResponseObject } from '../api-accounts/reply/response-object.ts';
import { declaringPart, type ToolTable, toolTable } from '../api-accounts/tools/tool-table.ts';
import { capsuleText } from './reasoning-capsule.ts';
import { ChatReply, type ChatReplyOptions } from './reply/chat-reply.ts';

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Undefined for the kinds whose answers are no completions. */
export function chatDecoding({ body }: Outgoing, context: EncodedAttempt): readonly EventHandler[] | undefined {
  const { turn, estimateUsage, work } = context;
  if (!work || turn.route.kind === 'embeddings') return undefined;
  const { quirks } = apiAccountOf(context);
  const declaring = declaringPart(body);
  let tools: ToolTable | undefined;
  const options: ChatReplyOptions = {
    turn,
    response: new ResponseObject(body, turn),
    quirks,
    toolOf: (name) => {
      tools ??= toolTable(declaring, new Adaptations());
      return tools.toolOf(name);
    },
    showsSummary: isObject(body.reasoning) && typeof body.reasoning.summary === 'string' && body.reasoning.summary !== 'none',
    seal:
      quirks.reasoning_replay !== 'none' && asList(body.include).includes(ENCRYPTED_REASONING) ? sealing(context, body.model) : undefined,
    estimateUsage,
  };
  const summary = isSummary(turn, work.body) ? [new SummaryReply(turn)] : [];
  return [new ChatReply(options), ...summary];
}

function sealing({ turn }: EncodedAttempt, model: JsonObject[string]): NonNullable<ChatReplyOptions['seal']> {
  return (text, details, calls) => turn.sealCapsule('reasoning', capsuleText({ model: String(model), text, details, calls }));
}
