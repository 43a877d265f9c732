// Embeddings: checks the model, the input, the parameters and the answer, and replaces the model by the account's own name (AA79 to AA81).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { noEligibleAccount, Refusal } from '../../proxy/turn/errors/refusal.ts';
import { safeParam } from '../../proxy/turn/errors/sanitise.ts';
import { isAbsent, isList, isObject, type Json } from '../../proxy/turn/json/json.ts';
import { asTokens } from '../../proxy/turn/reply/stated-usage.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { inputTokens } from '../../proxy/turn/token-estimate.ts';
import type { Body, Turn } from '../../proxy/turn/turn.ts';
import { accountsName } from '../helpers/accounts-name.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { requireAllowed } from '../helpers/key-policy.ts';

const MEMBERS: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user']);

/** The public API's limit for one request. */
const MOST_INPUTS = 2_048;

interface Asked {
  readonly model: string;
  readonly inputs: number;
  /** The estimated number of tokens. */
  readonly tokens: number;
}

export const embeddings = rule<Asked>({
  name: 'embeddings',
  routes: ['embeddings'],
  async request(work, turn) {
    const { body } = work;
    const model = await modelOf(body, turn);
    checkMembers(body);
    const inputs = inputsIn(body.input);
    if (!turn.model?.routable) throw noEligibleAccount(turn.recoversIn());
    const { user: _, ...sent } = body;
    work.body = sent;
    return { model, inputs, tokens: inputTokens(sent) };
  },
  attempt({ account, body }, { model }) {
    body.model = accountsName(account, model) ?? model;
  },
  answer({ object, data, usage }, { model, inputs, tokens }, turn) {
    if (!isList(data) || data.length !== inputs) throw new Refusal('upstream_error');
    const stated = isObject(usage) ? asTokens(usage.prompt_tokens) : undefined;
    turn.note('input_tokens', stated ?? tokens);
    turn.note('output_tokens', 0);
    if (stated === undefined) turn.note('tokens_estimated', true);
    return { object, data, model, usage };
  },
  explain: (facts) => explainPerAccount(facts, accountsName),
});

async function modelOf({ model: id }: Body, turn: Turn): Promise<string> {
  if (typeof id !== 'string' || id === '') throw new Refusal('invalid_model', { param: 'model' });
  requireAllowed(id, turn);
  const found = await turn.findModel(id);
  if (!found || !turn.makesEmbeddings(id)) throw new Refusal('invalid_model', { param: 'model' });
  turn.model = found;
  turn.note('model', found.id);
  return found.id;
}

function checkMembers(body: Body): void {
  for (const [name, value] of Object.entries(body)) {
    if (MEMBERS.has(name) || isAbsent(value)) continue;
    // The name is a client's text. It is repeated only if it is a plain path.
    const param = safeParam(name);
    throw new Refusal('unsupported_parameter', param === null ? {} : { param });
  }
  const { encoding_format: format, dimensions } = body;
  if (!isAbsent(format) && format !== 'float' && format !== 'base64') throw invalidRequest('encoding_format', 'must be float or base64');
  if (!isAbsent(dimensions) && !(Number.isSafeInteger(dimensions) && Number(dimensions) > 0)) {
    throw invalidRequest('dimensions', 'must be a positive integer');
  }
}

/** The number of embeddings that the input asks for. A text or a list of tokens is one. @throws Refusal */
function inputsIn(input: Json | undefined): number {
  if (typeof input === 'string') return 1;
  if (!isList(input)) throw invalidRequest('input', 'must be a text, texts, tokens or lists of tokens');
  if (input.length === 0 || input.length > MOST_INPUTS) throw invalidRequest('input', `must have 1 to ${MOST_INPUTS} elements`);
  if (input.every(isToken)) return 1;
  const [first] = input;
  const isKind = typeof first === 'string' ? (one: Json): boolean => typeof one === 'string' : isTokens;
  const at = input.findIndex((one) => !isKind(one));
  if (at >= 0) throw invalidRequest(`input.${at}`, 'must be like the other elements: all texts, all tokens, or all lists of tokens');
  return input.length;
}

const isToken = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isTokens = (value: Json): boolean => isList(value) && value.length > 0 && value.every(isToken);
