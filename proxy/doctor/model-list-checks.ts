// Checks the lists of models of API accounts. Each is read once with the account's credential, and compared with what the file declares
// (AA86). No turn is sent.
import type { Config, LoadedConfig } from '../config/config.ts';
import { apiCatalog } from '../providers/api-accounts/models/model-list.ts';
import { isObject } from '../turn/json/json.ts';
import { type ApiAccountConfig, credentialHeader, isApiAccount } from '../turn/provider/api-account.ts';
import type { CatalogAnswer, OwnGet } from '../turn/provider/reads.ts';
import { isRehearsal } from '../turn/provider/rehearsal-address.ts';
import { ownRequestHeaders } from '../turn/wire/own-request.ts';
import { call } from '../upstream/call.ts';
import { UndiciCarrier } from '../upstream/carriers/undici-carrier.ts';
import { credentialAdvice } from '../upstream/credentials/credential-advice.ts';
import { egressOf } from '../upstream/egress/egress.ts';
import type { Diagnosis } from './diagnosis.ts';

type Ways = Pick<LoadedConfig, 'bearers' | 'connections' | 'environment'>;

const DEADLINE_MS = 10_000;
const MAX_BYTES = 4_194_304;

export async function modelListDiagnoses(config: Pick<Config, 'accounts' | 'wire'>, ways: Ways): Promise<readonly Diagnosis[]> {
  const asked = config.accounts.filter(isApiAccount).filter(({ base_url, read_models }) => !isRehearsal(base_url) && read_models !== false);
  const found = await Promise.all(asked.map(async (account) => diagnosesOf(account, await read(account, config, ways))));
  return found.flat();
}

async function read(account: ApiAccountConfig, { wire }: Pick<Config, 'wire'>, ways: Ways): Promise<CatalogAnswer | undefined> {
  const timeouts = { connectMs: DEADLINE_MS, firstByteMs: DEADLINE_MS, idleMs: DEADLINE_MS };
  const query = new URLSearchParams(account.query).toString();
  const carrier = new UndiciCarrier(account.base_url, timeouts, undefined, egressOf(account, ways).routeTo(account.base_url), query);
  const secret = ways.bearers.get(account.id);
  const name = credentialHeader(account);
  const credential = secret === undefined ? {} : { [name]: name === 'authorization' ? `Bearer ${secret}` : secret };
  const headers = { ...ownRequestHeaders(account), ...account.headers, ...credential };
  const get: OwnGet = (path, from = 'base') =>
    call(carrier, { method: 'GET', path, from, headers, body: null }, { bytes: MAX_BYTES, ms: DEADLINE_MS });
  try {
    return await apiCatalog.read(get, { account, wire });
  } catch {
    return undefined;
  } finally {
    await carrier.destroy();
  }
}

const check = 'models';

function diagnosesOf(account: ApiAccountConfig, answer: CatalogAnswer | undefined): readonly Diagnosis[] {
  const { id } = account;
  if (!answer) return [{ check, level: 'warning', message: `The list of models of ${id} was not answered.`, advice: 'Run doctor again.' }];
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    return [{ check, level: 'problem', message: `${id} refuses its credential (${status}).`, advice: credentialAdvice(account) }];
  }
  if (status === 404)
    return [{ check, level: 'problem', message: `${id} has no list of models below its base_url (404).`, advice: pathAdvice(account) }];
  if (status < 200 || status > 299 || !Array.isArray(body)) {
    const advice = `Check base_url. With read_models: false the list is not read.`;
    return [{ check, level: 'warning', message: `${id} answers no list of models (${status}).`, advice }];
  }
  const listed = new Map(
    body.flatMap((model) => (isObject(model) && typeof model.id === 'string' ? [[model.id, model.context_window]] : [])),
  );
  const models: Diagnosis = { check, level: 'ok', message: `${id} lists ${listed.size} ${listed.size === 1 ? 'model' : 'models'}.` };
  return [models, ...unlisted(account, new Set(listed.keys())), ...tooLarge(account, listed)];
}

/** The advice if the account has no list at its path. */
export const pathAdvice = ({ base_url }: ApiAccountConfig): string =>
  new URL(base_url).pathname.includes('/v1')
    ? 'Correct the path of base_url.'
    : 'Most servers have it below /v1: try base_url with /v1 at its end.';

/** The declared models that the list does not have. Azure is left out, because it lists base models, not deployments. */
function unlisted({ id, preset, catalog, models }: ApiAccountConfig, listed: ReadonlySet<string>): readonly Diagnosis[] {
  if (preset === 'azure') return [];
  const own = new Set([...Object.values(models), ...catalog.map((row) => row.id)]);
  const advice = 'Correct the own ids in models and catalog; turns for these are sent all the same.';
  const missing = [...own].filter((name) => !listed.has(name));
  return missing.length === 0 ? [] : [{ check, level: 'warning', message: `${id} does not list ${missing.join(', ')}.`, advice }];
}

function tooLarge({ id, catalog }: ApiAccountConfig, listed: ReadonlyMap<string, unknown>): readonly Diagnosis[] {
  return catalog.flatMap(({ id: own, context_window: declared }) => {
    const stated = listed.get(own);
    if (declared === undefined || typeof stated !== 'number' || declared <= stated) return [];
    const message = `${id} states a window of ${stated} for ${own}, and its catalog row ${declared}.`;
    return [{ check, level: 'warning', message, advice: 'Declare no larger context_window than the server has.' }];
  });
}
