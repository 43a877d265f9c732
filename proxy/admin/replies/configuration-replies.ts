// Replies about the configuration: reloads, explanations, and the form of every refusal.
import type { Reloaded } from '../../config/loading/reloader.ts';
import type { Finding } from '../../config/schema/finding.ts';
import type { ExplainedTurn } from '../../explain/explanation.ts';
import { CAP, PRICES } from '../../mcp/money-fields.ts';
import { anything, flag, integer, list, nullable, object, oneOf, record, type Schema, text } from '../../turn/json/field-schemas.ts';
import { LACKS } from '../../turn/provider/lack.ts';
import { REFUSAL_CODES, type RefusalReply } from '../api/endpoint.ts';
import { checkOf } from '../api/reply-check.ts';

/** The reply of GET /api/explain. */
export interface ExplainReply {
  /** `versionOf` the running configuration. */
  readonly version: string;
  readonly turns: readonly ExplainedTurn[];
}

export const FINDING: Schema<Finding> = object({
  file: text('The file.'),
  line: integer('From 1.'),
  column: integer('From 1.'),
  message: text('What is wrong.'),
  severity: oneOf(['error', 'warning'], 'Only an error prevents the use of the file.'),
});

export const REFUSAL: Schema<RefusalReply> = object({ error: text('The reason; nothing changed.') }, 'A refusal.', {
  code: oneOf(REFUSAL_CODES, 'What it is known by.'),
  param: text('The parameter or member that is wrong.'),
  findings: list('The errors of the configuration file.', FINDING),
});

/** The schema of a change. It has `from` and `to` if they are not secret. */
export const CHANGE = object(
  {
    path: text('Path of the setting; rows of lists are named by their id.'),
    kind: oneOf(['added', 'removed', 'changed', 'reordered'], 'What happened to it.'),
    restart: flag('Whether it takes effect only after a restart.'),
  },
  undefined,
  { from: anything('Value before.'), to: anything('Value after.') },
);

export const RELOADED: Schema<Reloaded> = object({
  version: text('Digest of the running configuration: equal for equal settings.'),
  changes: list('What changed, and what still waits for a restart.', CHANGE),
  warnings: list('Warnings of the file.', FINDING),
});

const MODE = object({
  configured: oneOf(['auto', 'lite', 'full'], 'Of the configuration.'),
  effective: nullable(oneOf(['lite', 'full'], 'The mode of the next turn; null if it is not resolved.')),
  source: nullable(oneOf(['catalog', 'override'], 'What decides it.')),
  why: text('A sentence.'),
});

const EXPLAINED_TURN: Schema<ExplainedTurn> = object({
  pool: text('Id of the Pool.'),
  key: nullable(text('Id of the key.')),
  model: nullable(text('Exposed model id.')),
  alias: nullable(text('The alias under which it was asked for.')),
  refused: nullable(text('The refusal before an account is chosen; null if none is known.')),
  mode: nullable(MODE),
  rules: record('Name of a rule to its effect.', text('A sentence.')),
  accounts: list(
    'The accounts of the Pool, in order.',
    object({
      account: text('Id of the account.'),
      api: text('Its API.'),
      preset: nullable(text('Its preset.')),
      tier: integer('Its tier in the Pool.'),
      takes: oneOf(['first', 'overflow', 'pinned', 'higher_tier', 'no', 'unknown'], 'Whether it takes the turn.'),
      lack: nullable(oneOf(LACKS, 'What it lacks for the turn.')),
      prices: nullable(PRICES),
      caps: list('The caps that hold in its tier.', CAP),
      efforts: record('The effort that is sent for each effort.', nullable(text('An effort; null if none is sent.'))),
      adapted: nullable(list('What its encoding would change or remove of the body.', text('A name.'))),
      why: text('A sentence.'),
    }),
  ),
  choice: nullable(
    object(
      {
        account: nullable(text('Id of the account; null if none can take the turn.')),
        tied: list('Accounts with the same score.', text('Id of an account.')),
        reason: nullable(text('As in the request log.')),
        why: text('A sentence.'),
      },
      undefined,
      { waits: flag('Whether the turn waits for an account that is at its maximum.') },
    ),
  ),
  chain: nullable(
    object({
      models: list(
        'The asked model first.',
        object({
          model: text('Exposed model id.'),
          account: nullable(text('The account that it would go to.')),
          why: text('A sentence.'),
        }),
      ),
      ends: nullable(text('The model that would serve the turn now.')),
    }),
  ),
});

export const EXPLAINED: Schema<ExplainReply> = object({
  version: text('Digest of the running configuration.'),
  turns: list('One for each Pool that the question concerns.', EXPLAINED_TURN),
});

export const isReloadReply = checkOf(RELOADED);
export const isExplainReply = checkOf(EXPLAINED);
export const isRefusal = checkOf(REFUSAL);
