// The model list of a simulated account by the version of its reader, and the models that a turn's version may use (RB1, RB2).
import type { JsonObject } from '../../turn/json/json.ts';
import { compareVersions, parseVersion, statedVersion } from '../../turn/wire/client-version.ts';
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { catalogOf, type SampleCatalog } from '../model/sample-models.ts';
import { ProviderDetail, SimulatedError } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';

const ALL = '0.0.0';

/**
 * The answer to `GET …/models`.
 * @param isVersioned whether the list depends on `client_version`, which the read then has to state
 * @throws SimulatedError if a read states no version, or a malformed one
 */
export function catalogAnswer(catalog: SampleCatalog, { headers, query }: ReceivedRequest, isVersioned: boolean): SimulatedAnswer {
  const { body, etag } = isVersioned ? listedFor(catalog, new URLSearchParams(query).get('client_version')) : catalog;
  if (headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: { kind: 'bytes', bytes: Buffer.alloc(0) } };
  return { status: 200, headers: { 'content-type': 'application/json', etag }, body: { kind: 'bytes', bytes: Buffer.from(body) } };
}

function listedFor(catalog: SampleCatalog, stated: string | null): SampleCatalog {
  if (stated === null) throw invalidQuery('missing', 'Field required', 'None');
  const version = parseVersion(stated);
  if (!version) throw invalidQuery('value_error', 'Value error, invalid version', `'${stated}'`);
  if (stated === ALL) return catalog;
  return catalogOf(
    catalog.models.filter(({ minimal_client_version }) => {
      const minimal = statedVersion(minimal_client_version);
      return minimal === undefined || compareVersions(minimal, version) <= 0;
    }),
  );
}

/** The text of the backend's validation, which it sends as a message. */
const invalidQuery = (type: string, message: string, input: string): SimulatedError =>
  new SimulatedError(400, null, `[{'type': '${type}', 'loc': ('query', 'client_version'), 'msg': '${message}', 'input': ${input}}]`);

/** @throws ProviderDetail if the model needs a newer client than the header `version` states */
export function refuseOldVersion(entry: JsonObject | undefined, slug: string, stated: string | undefined): void {
  const minimal = statedVersion(entry?.minimal_client_version);
  if (minimal === undefined) return;
  const version = parseVersion(stated);
  if (!version) throw new ProviderDetail(404, `Model not found ${slug}`);
  if (compareVersions(minimal, version) <= 0) return;
  const advice = 'requires a newer version of Codex. Please upgrade to the latest app or CLI and try again.';
  throw new ProviderDetail(400, `The '${slug}' model ${advice}`);
}

/** The page of a network's guard (RB3). */
export function challengePage(): SimulatedAnswer {
  const html =
    '<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Enable JavaScript and cookies to continue</body></html>';
  const headers = { 'content-type': 'text/html; charset=UTF-8', server: 'cloudflare' };
  return { ...jsonAnswer(403, {}), headers, body: { kind: 'bytes', bytes: Buffer.from(html) } };
}
