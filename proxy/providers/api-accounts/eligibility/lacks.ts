// Why an API account cannot take a turn, and what it takes only with a loss (AA18, AA19).
import type { AccountModel } from '../../../turn/provider/account-model.ts';
import { type ApiAccountConfig, isApiAccount } from '../../../turn/provider/api-account.ts';
import type { AskedTurn, Lack } from '../../../turn/provider/lack.ts';
import type { RouteKind } from '../../../turn/routes/kinds.ts';
import type { AccountConfig } from '../../../turn/settings.ts';
import type { DeclaredHosted } from './needed-tools.ts';
import { type NeededInput, needsOf, type TurnNeeds } from './turn-needs.ts';

/** The account, and what is known of the turn's model there. The model is undefined on routes whose models are in no catalog. */
interface Asked {
  readonly turn: AskedTurn;
  readonly account: ApiAccountConfig;
  readonly model: AccountModel | undefined;
}

type Check = (needs: TurnNeeds, asked: Asked) => Lack | undefined | false;

/** The checks in the order of `LACKS`. The first one that applies counts. */
const CHECKS: readonly Check[] = [
  // A Responses account can continue a response on its live websocket, and a hard pin leads there (AA23, AA33).
  ({ isAnchored }, { account: { api } }) => isAnchored && api === 'chat' && { reason: 'anchor' },
  ({ file }, { account: { api } }) => file !== undefined && api === 'chat' && { reason: 'files', param: file },
  ({ unknownItem }) => unknownItem !== undefined && { reason: 'item', param: unknownItem },
  ({ unknownInChat }, { account: { api } }) => unknownInChat !== undefined && api === 'chat' && { reason: 'item', param: unknownInChat },
  ({ hasCallable }, { model }) => hasCallable && model?.tools === false && { reason: 'tools', param: 'tools' },
  ({ requiredHosted }, { account }) =>
    requiredHosted !== undefined && !runs(account, requiredHosted.tool) && { reason: 'hosted_tool', param: requiredHosted.place },
  ({ unknownTool }) => unknownTool !== undefined && { reason: 'tool_type', param: unknownTool },
  ({ choice }, { account }) =>
    choice !== undefined && !account.quirks.tool_choice_required && { reason: 'tool_choice', param: 'tool_choice' },
  ({ hasSchema }, { account }) => hasSchema && account.quirks.json_schema === 'refuse' && { reason: 'schema', param: 'text.format' },
  ({ inputs }, asked) => {
    const refused = inputs.find((input) => !input.isPast && !takesInput(input, asked));
    return refused && { reason: 'modality', param: refused.place };
  },
  ({ effort }, { turn, model }) => isFixedEffortMissing(effort, turn, model) && { reason: 'effort', param: 'reasoning.effort' },
];

/** @param model undefined if the account's catalog does not have it */
export function apiLacks(turn: AskedTurn, account: AccountConfig, model: AccountModel | undefined): Lack | undefined {
  if (!isApiAccount(account) || !servesKind(turn.kind, account)) return { reason: 'kind' };
  const needs = turn.kind === 'embeddings' || drawsKind(turn.kind, account) ? undefined : needsOf(turn);
  if (!needs) return undefined;
  if (needs.compacts && !servesCompaction(account)) return { reason: 'kind' };
  const asked = { turn, account, model };
  for (const check of CHECKS) {
    const lack = check(needs, asked);
    if (lack) return lack;
  }
  return undefined;
}

/**
 * Whether the account would get the turn without a tool that it declares and does not require, or without its hints. Other accounts are
 * then preferred (AA19, AA36).
 */
export function apiLoses(turn: AskedTurn, account: AccountConfig): boolean {
  if (turn.hasHints) return true;
  const hosted = needsOf(turn)?.hosted ?? [];
  return isApiAccount(account) && hosted.some(({ tool }) => !runs(account, tool));
}

/** Whether the account runs a tool itself. The tool search is part of the API, so accounts which take tools of all types have it. */
export function runs(account: ApiAccountConfig, tool: DeclaredHosted['tool']): boolean {
  if (account.api === 'chat') return false;
  return tool === 'tool_search' ? account.quirks.tools === 'all' : account.hosted_tools.includes(tool);
}

const QUIRK_OF = { image: 'images', file: 'files', audio: 'audio' } as const;

/** Whether an image, a file or audio can be sent to the account in its form. */
export function takesInput(
  { modality, form }: Pick<NeededInput, 'modality' | 'form'>,
  { account, model }: Pick<Asked, 'account' | 'model'>,
): boolean {
  if (!model?.modalities.includes(modality)) return false;
  const takes = account.quirks[QUIRK_OF[modality]];
  return takes === 'any' || (takes === 'data' && form === 'data');
}

/** Whether the account's model lacks an effort that a key's `always` sets. Such an effort is not lowered (AA45). */
const isFixedEffortMissing = (effort: string | undefined, turn: AskedTurn, model: AccountModel | undefined): boolean =>
  turn.effortIsFixed === true && effort !== undefined && model?.reasoningLevels !== undefined && !model.reasoningLevels.includes(effort);

type Serves = (account: ApiAccountConfig) => boolean;

const turns: Serves = ({ serves }) => serves.includes('turns');
const nothing: Serves = () => false;

const servesCompaction: Serves = ({ serves, compact }) => serves.includes('compact') && compact !== 'none';

/** Whether the account makes images on its paths of the Images API. */
const drawsImages: Serves = ({ api, serves }) => api === 'responses' && serves.includes('images');

/** Whether the account can make images. On /v1, a turn that must use the image tool gives the same answer as those paths (Q22). */
const makesImages: Serves = (account) =>
  drawsImages(account) || (account.api === 'responses' && turns(account) && account.hosted_tools.includes('image_generation'));

const transcribes: Serves = ({ serves }) => serves.includes('transcriptions');

/** Which kinds API accounts serve, by their `serves` and `compact` (AA13, AA18). Other kinds go only to accounts of agent backends. */
const SERVES: Partial<Readonly<Record<RouteKind, Serves>>> = {
  responses: turns,
  'public-responses': turns,
  chat: turns,
  messages: turns,
  compact: servesCompaction,
  'public-compact': servesCompaction,
  image: drawsImages,
  'public-image': makesImages,
  'public-image-edit': makesImages,
  transcribe: transcribes,
  'public-transcription': transcribes,
  embeddings: ({ serves }) => serves.includes('embeddings'),
  'public-file-create': ({ api, serves }) => api === 'responses' && serves.includes('files'),
};

/**
 * Whether the account gets a translated image request on its path of the Images API. The turn's needs of a model then do not matter (AA35).
 */
const drawsKind = (kind: RouteKind, account: ApiAccountConfig): boolean =>
  (kind === 'public-image' || kind === 'public-image-edit') && drawsImages(account);

const servesKind = (kind: RouteKind, account: ApiAccountConfig): boolean => (SERVES[kind] ?? nothing)(account);
