// Translates a turn into the body of a Chat request. The body has only members of Chat that the turn needs, always in one order (AA40).
import { isList, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import type { AccountModel } from '../../../turn/provider/account-model.ts';
import { Adaptations, type AdaptedName } from '../../../turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../../turn/provider/api-account.ts';
import type { Body } from '../../../turn/turn.ts';
import { hostingOf, withoutHostedCalls } from '../../api-accounts/hosted-calls.ts';
import { ToolTable, toolTable } from '../../api-accounts/tools/tool-table.ts';
import type { ChatEncoding } from './encoding.ts';
import { chatMessages } from './request-messages.ts';
import { chatFormat, effortMembers, keptMembers, outputCapMembers } from './request-settings.ts';
import { toolMembers } from './request-tools.ts';

export interface Translated {
  readonly body: JsonObject;
  readonly streams: boolean;
  readonly adapted: readonly AdaptedName[] | undefined;
}

export interface Translatable {
  readonly turn: Pick<LiveTurn, 'openCapsule'>;
  readonly account: ApiAccountConfig;
  readonly model: AccountModel | undefined;
  /** Whether the request has no tools, even if its history has some. A summary needs none (AA48). */
  readonly isWithoutTools: boolean;
  /** Makes the digest of the client's cache key (AA38). */
  readonly cacheKeyOf: (stated: string) => string;
}

/** @param body as the rules left it; its cap is removed if the account does not get one */
export function chatBody(body: Body, { turn, account, model, isWithoutTools, cacheKeyOf }: Translatable): Translated {
  const { quirks, drop_fields } = account;
  const adapted = new Adaptations();
  const tools = isWithoutTools ? new ToolTable() : toolTable(body, adapted);
  const encoding: ChatEncoding = { turn, quirks, model, ownId: String(body.model), tools, adapted };
  const format = chatFormat(body, encoding);
  const items = withoutHostedCalls(itemsOf(body.input), hostingOf(account, model), { adapted });
  const messages = chatMessages({ instructions: body.instructions, items, systemEnd: format.systemEnd }, encoding);
  const toolsOut = toolMembers(body.tool_choice, body.parallel_tool_calls, encoding);
  const streams = quirks.stream === 'always' || (quirks.stream === 'without_tools' && toolsOut.tools === undefined);
  const members: Record<string, Json | undefined> = {
    model: body.model,
    messages,
    ...toolsOut,
    ...outputCapMembers(body, encoding),
    ...effortMembers(body, encoding),
    ...format.members,
    ...keptMembers(body, encoding, cacheKeyOf),
    stream: streams,
    ...(streams && quirks.stream_options ? { stream_options: { include_usage: true } } : {}),
  };
  for (const member of drop_fields) delete members[member];
  return { body: members, streams, adapted: adapted.list() };
}

/** The items of the input. A string is one message of the user. */
const itemsOf = (input: Json | undefined): readonly Json[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return isList(input) ? input : [];
};
