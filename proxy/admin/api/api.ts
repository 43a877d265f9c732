// The admin API: finds the endpoint of a request, checks the request, and encodes the answer.
import { EditRefused } from '../../config/file/file-replacement.ts';
import { ConfigError } from '../../config/schema/finding.ts';
import { ToolError } from '../../mcp/tool.ts';
import type { Asker } from '../access/asker.ts';
import { AnswerFault, BodyTooLarge } from '../admin-listener.ts';
import { ApiRefusal, apiRefusal, type Endpoint, type RefusalReply } from './endpoint.ts';
import { checkedBody, checkedQuery } from './request-check.ts';

export interface ApiRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Reads the decoded JSON body; undefined if there is none. */
  readonly body: (most?: number) => Promise<unknown>;
  readonly asker: Asker;
  /** The reason of the refusal, if the caller states another configuration file. */
  readonly otherFile: () => Promise<string | undefined>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly allow?: string;
}

interface Compiled {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly parts: readonly string[];
}

export class Api {
  readonly #endpoints: readonly Compiled[];

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints.map((endpoint) => {
      const [method = '', path = ''] = endpoint.name.split(' ');
      return { endpoint, method, parts: path.split('/') };
    });
  }

  /** Rejects only because of a defect of the program. */
  async answer(request: ApiRequest): Promise<ApiAnswer> {
    const parts = partsOf(request.path);
    const here = parts === undefined ? [] : this.#endpoints.filter((one) => fits(one.parts, parts));
    const found = here.find(({ method }) => method === request.method);
    if (!found || !parts) {
      if (here.length === 0) return refused(404, 'unknown path');
      return { ...refused(405, 'this path has another method'), allow: here.map(({ method }) => method).join(', ') };
    }
    const { endpoint } = found;
    try {
      if (endpoint.need === 'whole' && !request.asker.view().isWhole) throw new ApiRefusal(403, NOT_ADMIN);
      const other = endpoint.ofFile ? await request.otherFile() : undefined;
      if (other !== undefined) throw new ApiRefusal(409, other, { code: 'other_file' });
      const query = checkedQuery(endpoint, request.query);
      const body = request.method === 'GET' ? undefined : checkedBody(endpoint, await request.body(endpoint.bodyBytes?.()));
      const answer = await endpoint.answer({ asker: request.asker, path: named(found.parts, parts), query, body });
      return { status: 200, body: answer };
    } catch (thrown) {
      if (thrown instanceof ApiRefusal) return { status: thrown.status, body: thrown.reply };
      if (thrown instanceof ToolError) return refused(400, thrown.message);
      if (thrown instanceof ConfigError) return { status: 422, body: faulty(thrown, request.asker) };
      if (thrown instanceof BodyTooLarge) throw thrown;
      throw new AnswerFault(endpoint.name, thrown);
    }
  }
}

const NOT_ADMIN = 'only an operator with `admin: true` may do this';

const refused = (status: 400 | 404 | 405, error: string): ApiAnswer => ({ status, body: apiRefusal(status, error) });

/** The refusal for a file with errors. They may name settings of other operators, so only the findings of an edit are shown to all. */
function faulty(error: ConfigError, asker: Asker): RefusalReply {
  const isEdit = error instanceof EditRefused;
  const reason = isEdit ? 'the file is unchanged; with this edit it would have errors' : 'the file has errors';
  return apiRefusal(422, reason, isEdit || asker.view().isWhole ? { findings: error.findings } : {});
}

/** Undefined for a path whose encoding is not valid. */
function partsOf(path: string): readonly string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

const isName = (part: string): boolean => part.startsWith('{');

const fits = (template: readonly string[], parts: readonly string[]): boolean =>
  template.length === parts.length && template.every((part, i) => (isName(part) ? parts[i] !== '' : part === parts[i]));

const named = (template: readonly string[], parts: readonly string[]): Record<string, string> =>
  Object.fromEntries(template.flatMap((part, i) => (isName(part) ? [[part.slice(1, -1), parts[i] ?? '']] : [])));
