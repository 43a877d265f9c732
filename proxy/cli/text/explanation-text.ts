// Writes explained turns and logged turns as lines of text.
import type { AttemptRow, RequestRow, Why } from '../../../store/schema/logged-rows.ts';
import type { TurnReply } from '../../admin/replies/log-replies.ts';
import type { ExplainedAccount } from '../../explain/candidates.ts';
import type { ExplainedChain } from '../../explain/chain.ts';
import type { ExplainedChoice } from '../../explain/choice.ts';
import type { ExplainedTurn } from '../../explain/explanation.ts';
import type { ExplainedCap } from '../../explain/facts.ts';
import type { ExplainedMode } from '../../turn/rules/rule.ts';
import type { ChainedRule } from '../commands/routes-command.ts';

/** The lines of a turn. Empty for an undefined turn, which means that the question was only about the route. */
export function turnLines(turn: ExplainedTurn | undefined): readonly string[] {
  if (!turn) return [];
  const { pool, key, model, alias, refused, mode, accounts, choice, chain } = turn;
  const width = Math.max(0, ...accounts.map(({ account }) => account.length));
  return [
    `  Pool ${pool}, ${key === null ? 'any key' : `key ${key}`}, ${model === null ? 'any model' : `model ${model}`}${alias === null ? '' : ` by the alias ${alias}`}:`,
    `    answer    ${refused ?? 'from an account, unless the body is refused'}`,
    ...(mode ? [`    mode      ${modeText(mode)}`] : []),
    ...(choice ? [`    choice    ${choiceText(choice)}`] : []),
    '    accounts, with reasons:',
    ...accounts.flatMap((account) => accountLines(account, width)),
    ...(chain ? chainLines(chain) : []),
  ];
}

/** The lines of an account. The second line describes the account itself. */
function accountLines({ account, takes, why, ...more }: ExplainedAccount, width: number): readonly string[] {
  const { api, preset, tier, prices, caps, efforts, adapted } = more;
  const facts = [
    `${api}${preset === null ? '' : `, preset ${preset}`}`,
    `tier ${tier}`,
    prices && `${prices.input} USD in, ${prices.cached_input} cached, ${prices.output} out per million tokens`,
    ...caps.map(capText),
    effortsText(efforts),
    adapted && `adapted: ${adapted.length === 0 ? 'nothing' : adapted.join(', ')}`,
  ].filter((fact) => fact !== null);
  const first = `      ${account.padEnd(width)}  ${TAKES[takes]}: ${why}`;
  return [first, `      ${' '.repeat(width)}  ${facts.join('; ')}`];
}

function capText({ tier, window, max, left }: ExplainedCap): string {
  const of = tier === null ? 'all higher tiers' : `tier ${tier}`;
  return `${left === null ? `at most ${max}` : `${left} of ${max}`} USD of this ${window}${left === null ? '' : ' left'} for ${of}`;
}

/** The efforts that the account gets. If some differ from the requested ones, only those are named. */
function effortsText(efforts: ExplainedAccount['efforts']): string | null {
  const asked = Object.entries(efforts);
  if (asked.length === 0) return null;
  const changed = asked.filter(([effort, sent]) => effort !== sent);
  if (changed.length === 0) return asked.length === 1 ? `effort ${asked[0]?.[0]}` : 'efforts as they are asked';
  return `effort ${changed.map(([effort, sent]) => `${effort} ${sent === null ? 'is not sent' : `as ${sent}`}`).join(', ')}`;
}

function chainLines({ models, ends }: ExplainedChain): readonly string[] {
  const width = Math.max(...models.map(({ model }) => model.length));
  return [
    `    chain     ${models.map(({ model }) => model).join(', then ')}: ${ends === null ? 'no model is known to serve the turn now' : `ends at ${ends} now`}`,
    ...models.map(({ model, account, why }) => `      ${model.padEnd(width)}  ${account ?? 'none'}: ${why}`),
  ];
}

const modeText = ({ configured, effective, source, why }: ExplainedMode): string =>
  effective === null
    ? `${configured} is configured, not resolved: ${why}`
    : `${configured} is configured: ${effective} by ${source}, since ${why}`;

function choiceText({ account, tied, why }: ExplainedChoice): string {
  return `${account === null ? 'none' : [account, ...tied].join(' or ')}: ${why}`;
}

const TAKES = {
  first: 'yes',
  overflow: 'if no other can',
  pinned: 'only if pinned',
  higher_tier: 'if lower tiers cannot',
  no: 'no',
  unknown: 'perhaps',
} as const;

/** The rules of the route, each with its phases, and its effect on this turn if that is known. */
export function ruleLines(rules: readonly ChainedRule[], turn: ExplainedTurn | undefined): readonly string[] {
  const nameWidth = Math.max(0, ...rules.map(({ rule }) => rule.length));
  const phaseWidth = Math.max(0, ...rules.map((one) => one.phases.join(' ').length));
  const lines = rules.map((one) => {
    const effect = turn?.rules[one.rule];
    const phases = one.phases.join(' ');
    return `    ${one.rule.padEnd(nameWidth)}  ${effect === undefined ? phases : `${phases.padEnd(phaseWidth)}  ${effect}`}`;
  });
  return ['  rules in order, with their phases:', ...lines];
}

/** A turn of the request log, with the reason for each account. */
export function loggedLines({ turn, attempts }: TurnReply): readonly string[] {
  const mode = turn.effective_mode && `${turn.effective_mode} by ${turn.mode_source}, configured ${turn.configured_mode}`;
  const tokens = turn.input_tokens === null ? 'not stated' : `${turn.input_tokens} in, ${turn.output_tokens ?? 'unknown'} out`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['at', `${new Date(turn.at).toISOString()}, ${turn.duration_ms} ms`],
    ['request', `${turn.method} ${turn.endpoint}`],
    ['Pool', turn.pool && `${turn.pool}, key ${turn.key_id}`],
    ['model', turn.requested_model === null ? turn.model : `${turn.model}, for ${turn.requested_model}`],
    ['mode', mode],
    ['effort', turn.effort ?? null],
    ['answer', [turn.outcome, turn.status, turn.code, turn.error_class].filter((part) => part !== null).join(', ')],
    ['tokens', `${tokens}${turn.tokens_estimated ? ', estimated' : ''}`],
    ['outputs', turn.payload_compression && compressionText(turn.payload_compression)],
    ['account', turn.account],
    ['overflow', turn.overflow && `tier ${turn.tier}: lower tiers were ${turn.overflow}`],
    ['adapted', turn.adapted],
    ['why', turn.why?.reason ?? null],
    ['others', turn.why && (Object.entries(turn.why.others).map(counted).join(', ') || 'none')],
    ['moved', turn.why && movedText(turn.why)],
  ];
  return [
    turn.id,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(8)} ${value}`])),
    ...(attempts.length > 0 ? ['  attempts in order:'] : []),
    ...attempts.map(attemptLine),
  ];
}

/** How the tool outputs of the turn were compressed (RM2). */
function compressionText(noted: NonNullable<RequestRow['payload_compression']>): string {
  const { skipped_body_bytes, outputs = 0, compressed = 0, over_limit = 0, errors = 0 } = noted;
  if (skipped_body_bytes !== undefined) return `not compressed: the body has ${skipped_body_bytes} bytes`;
  const { saved_tokens, token_savings_percent, saved_bytes, byte_savings_percent } = noted;
  const facts = [
    `${compressed} of ${outputs} compressed`,
    saved_tokens === undefined ? null : `${saved_tokens} tokens saved (${token_savings_percent} %)`,
    saved_bytes === undefined ? null : `${saved_bytes} bytes saved (${byte_savings_percent} %)`,
    noted.protected ? `${noted.protected} protected` : null,
    over_limit ? `${over_limit} behind the last candidate` : null,
    errors ? `${errors} with errors` : null,
  ];
  return facts.filter((fact) => fact !== null).join(', ');
}

const counted = ([reason, count]: readonly [string, number]): string => `${count} ${reason}`;

function attemptLine({ account, cause, status, error_class, duration_ms, upstream_error_param }: AttemptRow): string {
  const facts = [status === null ? 'no answer' : `status ${status}`, error_class, upstream_error_param && `param ${upstream_error_param}`];
  return `    ${account}  as ${cause}: ${facts.filter((part) => part !== null).join(', ')}, ${duration_ms} ms`;
}

/** Null if the turn went to the account of its session and of its conversation, or continues neither. */
function movedText({ left_soft_pin, left_affinity }: Why): string | null {
  if (left_soft_pin !== undefined) return `away from its session's account: ${left_soft_pin}`;
  return left_affinity === undefined ? null : `away from its conversation's account: ${left_affinity}`;
}
