// The model of an image request: named, permitted to the key, and hosted by another model if the catalog does not have it (A10, AU5, Q4).
import { plainRefusal, Refusal } from '../../proxy/turn/errors/refusal.ts';
import { asList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body, ModelView, Turn } from '../../proxy/turn/turn.ts';
import { accountsName } from '../helpers/accounts-name.ts';
import { requireAllowed } from '../helpers/key-policy.ts';
import { IMAGES } from '../route-groups.ts';

interface Named {
  readonly id: string;
  /** Whether the catalog has the id. If so, accounts may have another name for it. Otherwise the id is sent exactly as it came. */
  readonly listed: boolean;
}

/** Sets the turn's model to the one whose accounts can take the request: the image model itself on native routes, otherwise its host. */
export const imageModel = rule<Named>({
  name: 'image-model',
  routes: IMAGES,
  async request({ body }, turn) {
    const id = idOf(body, turn);
    const host = turn.pool.image_host_model;
    // The host is looked up first: an unknown one causes the catalogs to be read again, so that the look-up below is up to date.
    const hostView = host === undefined ? undefined : await turn.findModel(host);
    const presence = turn.presenceOf(id);
    if (presence === 'suppressed' || presence === 'invisible') throw new Refusal('invalid_model', { param: 'model' });
    const listed = presence !== 'absent';
    // Without a host, accounts that make images themselves are the sources of the image model (AA35).
    const isOwn = isNative(turn) || (host === undefined && turn.hasApiAccounts);
    turn.model = isOwn && listed ? await turn.findModel(id) : hostView;
    if (!isNative(turn)) checkHost(turn, turn.model);
    noteModel(id, listed, turn);
    return { id, listed };
  },
  attempt(out, { id, listed }, turn) {
    const name = listed ? accountsName(out.account, id) : undefined;
    if (name === undefined) return;
    if (isNative(turn)) out.body.model = name;
    else Object.assign(out.body, withImageModel(out.body, name));
  },
  explain({ key, pool: { image_host_model } }) {
    const allowed = key?.models ? `allows: ${key.models.join(', ') || 'nothing'}; ` : '';
    return `${allowed}${image_host_model === undefined ? 'the Pool has no image_host_model' : `the host is ${image_host_model}`}`;
  },
});

const isNative = ({ route }: Turn): boolean => surfaceOf(route.kind) === 'native';

/** The image model's id, which the key may use. */
function idOf({ model }: Body, turn: Turn): string {
  if (typeof model !== 'string' || model === '') throw new Refusal('invalid_model', { param: 'model' });
  requireAllowed(model, turn);
  return model;
}

/** Checks the host, which does the work of images on /v1 (Q22). */
function checkHost({ pool }: Turn, host: ModelView | undefined): void {
  if (host) return;
  if (pool.image_host_model !== undefined) throw plainRefusal('no_eligible_account');
  throw new Refusal('invalid_model', { param: 'model', message: 'This Pool has no `image_host_model`, which image requests on /v1 need.' });
}

/**
 * Notes only an id that the catalog or the configuration has, because any other is a client's text (S4). If a host does the work, its id is
 * noted instead; on native routes there is no host.
 */
function noteModel(id: string, listed: boolean, turn: Turn): void {
  const { key, pool, model } = turn;
  const isKnown = listed || Object.hasOwn(pool.models, id) || key.models !== undefined;
  const noted = isKnown ? id : isNative(turn) ? undefined : model?.id;
  if (noted !== undefined) turn.note('model', noted);
}

/** The image_generation tool of a translated image request: at the top level in Full, inside the first input item in Lite. */
const IMAGE_TOOL = 'image_generation';

/** The members of the body that hold the tool, with this model set in it. */
function withImageModel({ tools, input }: Body, model: string): Body {
  if (tools !== undefined) return { tools: renamed(tools, model) };
  return { input: mapList(asList(input), (item) => (isObject(item) && item.tools !== undefined ? inItem(item, model) : item)) };
}

const inItem = (item: JsonObject, model: string): JsonObject => ({ ...item, tools: renamed(item.tools, model) });

const renamed = (tools: Json | undefined, model: string): readonly Json[] =>
  mapList(asList(tools), (tool) => (isObject(tool) && tool.type === IMAGE_TOOL ? { ...tool, model } : tool));
