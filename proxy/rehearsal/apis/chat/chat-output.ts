// The deltas of a simulated Chat reply: reasoning, text and calls, in pieces as a model sends them and in the form of the server.
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import type { SimulatedAccount } from '../../account/simulated-account.ts';
import type { IdSequence } from '../../model/id-sequence.ts';
import { CHARACTERS_PER_TOKEN, deltasOf, type OutputPart, type OutputPlan } from '../../model/output-plan.ts';
import type { ChatForm } from './chat-form.ts';
import { detailOf, opaqueOf } from './reasoning-details.ts';

export interface OutputContext {
  readonly form: ChatForm;
  readonly account: SimulatedAccount;
  readonly ids: IdSequence;
}

/** A call with the id and the place that its pieces have. */
export interface SimulatedCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

export interface ChatOutput {
  readonly reasoning: string;
  readonly text: string;
  readonly refusal: string;
  readonly calls: readonly SimulatedCall[];
  /** The number of tokens of all parts. */
  readonly tokens: number;
  readonly reasoningTokens: number;
  /** The members of each delta. */
  readonly deltas: readonly JsonObject[];
}

const REASONING_TOKENS = 16;

/** @param thought undefined if the turn asks for no reasoning */
export function chatOutput(plan: OutputPlan, thought: string | undefined, context: OutputContext): ChatOutput {
  const { form } = context;
  const textsOf = (kind: 'text' | 'refusal'): string => plan.parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');
  const calls = plan.parts.flatMap((part) => (part.kind === 'call' ? [callOf(part, context)] : []));
  const [reasoning, text, refusal] = [thought ?? '', textsOf('text'), textsOf('refusal')];
  const thinking = thought === undefined ? [] : reasoningDeltas(thought, context);
  const said = [
    ...textDeltas(text, context),
    ...deltasOf(refusal).map((piece): JsonObject => ({ refusal: piece })),
    ...callDeltas(calls, context),
  ];
  const reasoningTokens = thought === undefined ? 0 : REASONING_TOKENS;
  const characters = text.length + refusal.length + calls.reduce((sum, { input }) => sum + input.length, 0);
  return {
    reasoning,
    text,
    refusal,
    calls,
    tokens: Math.ceil(characters / CHARACTERS_PER_TOKEN) + reasoningTokens,
    reasoningTokens,
    deltas: form.has('late reasoning') ? [...said, ...thinking] : [...thinking, ...said],
  };
}

function callOf({ tool, input }: Extract<OutputPart, { kind: 'call' }>, { form, ids }: OutputContext): SimulatedCall {
  const id = ids.next('call');
  const short = ids.nextNumber().slice(-9).padStart(9, 'c');
  return { id: form.has('long call ids') ? id.padEnd(80, '0') : form.shortIds ? short : id, name: tool.name, input };
}

/** The members of a whole message, or of a delta with a piece of the reasoning. */
export function reasoningMembers(text: string, { form, account }: OutputContext): JsonObject {
  switch (form.reasoning) {
    case 'details':
      return { reasoning_details: [detailOf(text, account)] };
    case 'parts':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
    case 'tags':
      return { content: `<think>${text}</think>` };
    default:
      return { [form.reasoning]: text };
  }
}

function reasoningDeltas(text: string, context: OutputContext): readonly JsonObject[] {
  const { reasoning } = context.form;
  // The signature is computed from the whole text.
  if (reasoning === 'details') return [{ ...reasoningMembers(text, context), reasoning: text }];
  if (reasoning === 'tags') return ['<th', 'ink>', ...deltasOf(text), '</thi', 'nk>'].map((content) => ({ content }));
  return deltasOf(text).map((piece) => reasoningMembers(piece, context));
}

function textDeltas(text: string, { form }: OutputContext): readonly JsonObject[] {
  const contents = deltasOf(text).map(
    (piece): JsonObject => ({ content: form.has('list content') ? [{ type: 'text', text: piece }] : piece }),
  );
  return form.has('citations') && text !== '' ? [...contents, { annotations: [citation(text)] }] : contents;
}

export const citation = (text: string): JsonObject => ({
  type: 'url_citation',
  url_citation: { url: 'https://provider.example/source', title: 'Source', start_index: 0, end_index: text.length },
});

function callDeltas(calls: readonly SimulatedCall[], context: OutputContext): readonly JsonObject[] {
  const pieces = calls.map((call, index) => piecesOf(call, index, context));
  if (!context.form.has('interleaved calls')) return pieces.flat();
  const longest = Math.max(0, ...pieces.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => pieces.map((own) => own[i]))
    .flat()
    .filter((piece) => piece !== undefined);
}

function piecesOf(call: SimulatedCall, index: number, { form, account }: OutputContext): readonly JsonObject[] {
  if (form.has('legacy call')) {
    return [
      { function_call: { name: call.name, arguments: '' } },
      ...deltasOf(call.input).map((piece) => ({ function_call: { arguments: piece } })),
    ];
  }
  const place = form.has('no index') ? {} : { index: form.has('one index') ? 0 : index };
  const id = form.has('no call ids') ? {} : { id: call.id };
  const whole = wholeArguments(call, form);
  const head = {
    ...place,
    ...id,
    type: 'function',
    function: { name: call.name, ...(whole === undefined ? { arguments: '' } : whole) },
    ...(form.has('opaque calls') ? { extra_content: opaqueOf(account) } : {}),
  };
  const later = whole === undefined ? deltasOf(call.input) : [];
  const named = form.has('repeated names') ? { name: call.name } : form.has('empty names') ? { name: '' } : {};
  // Pieces without an index are identified by their id.
  const known = form.has('no index') || form.has('one index') ? id : {};
  const rest = later.map((piece) => ({ ...place, ...known, function: { ...named, arguments: piece } }));
  return [head, ...rest].map((one): JsonObject => ({ tool_calls: [one] }));
}

/** The arguments that come with the name; undefined if they come in pieces after it. */
function wholeArguments({ input }: SimulatedCall, form: ChatForm): JsonObject | undefined {
  if (form.has('null arguments')) return { arguments: null };
  if (form.has('no arguments')) return {};
  if (form.has('object arguments')) return { arguments: JSON.parse(input) as Json };
  return form.has('whole arguments') ? { arguments: input } : undefined;
}
