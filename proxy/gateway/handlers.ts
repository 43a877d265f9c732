// The handlers of turns: the gateway's own answers, dispatch to accounts, and the runner over both.

import { setImmediate } from 'node:timers/promises';
import { RULES } from '../../rules/index.ts';
import { LackingAccounts } from '../accounts/selection/lacking-accounts.ts';
import { fileDeniedAnswers, fileListAnswers, fileReadAnswers } from '../answers/files.ts';
import { keyUsageAnswers } from '../answers/key-usage.ts';
import { catalogAnswers, modelAnswers } from '../answers/model-lists.ts';
import { type PoolUsageOptions, poolUsageAnswers } from '../answers/pool-usage.ts';
import { placeOf } from '../base/process/log.ts';
import { Dispatch } from '../dispatch/dispatch.ts';
import { ReplyObservers } from '../dispatch/reply/reply-observers.ts';
import { liveModels } from '../explain/live-models.ts';
import { fileFollowUps } from '../files/file-follow-ups.ts';
import { mcpAnswers } from '../mcp/mcp-answers.ts';
import type { McpSources } from '../mcp/mcp-sources.ts';
import { TurnRunner } from '../server/turn-runner.ts';
import { SURFACES } from '../surfaces/surfaces.ts';
import type { LiveTurn, TurnHost } from '../turn/live-turn.ts';
import { clientVersionOf } from '../turn/wire/client-version.ts';
import type { Services } from './services.ts';

/** The state of the process that answers report. */
export interface ProcessState {
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Whether the gateway takes traffic. */
  readonly ready: boolean;
}

export function turnRunner(services: Services, process: ProcessState): TurnRunner {
  const { accounting, catalog, continuity, counters, credentials, files, log, models, usage } = services;
  const { admission, selection } = services.capacity;
  return new TurnRunner({
    admission,
    guard: services.guard,
    accounting,
    metrics: services.turnMetrics,
    log,
    dispatch: new Dispatch({
      admission,
      budgets: services.retryBudgets,
      selection,
      lacking: new LackingAccounts(services.providerOf),
      credentials,
      continuity,
      observers: new ReplyObservers([continuity.observer, usage.observer]),
      counters,
      websockets: services.websockets,
      compactPaths: services.capacity.compactPaths,
      providerOf: services.providerOf,
      followUps: fileFollowUps(services),
      ownHeaders: (turn) => ownHeaders(turn, services),
    }),
    answers: {
      catalog: catalogAnswers(models, catalog.whenReady),
      models: modelAnswers(models, catalog.whenReady),
      'pool-usage': poolUsageAnswers(poolUsage(services)),
      'key-usage': keyUsageAnswers(accounting),
      mcp: mcpAnswers(mcpSources(services, process)),
      'file-list': fileListAnswers(files),
      'file-read': fileReadAnswers(files),
      'file-denied': fileDeniedAnswers(files),
    },
  });
}

/** Headers of the gateway's own on every answer that an account gave (Q1, Q14). */
export function ownHeaders(turn: LiveTurn, { models }: Services): Record<string, string> {
  const own: Record<string, string> = { 'x-request-id': turn.id };
  if (turn.kind?.served === 'dispatch' && turn.kind.model && turn.surface.agentProtocol) {
    own['x-models-etag'] = models.etag(turn.pool, turn.key, clientVersionOf(turn.headers));
  }
  return own;
}

function poolUsage({ capacity, loaded, usage }: Services): PoolUsageOptions {
  const { quota, reads } = usage;
  const isVisible = (id: string): boolean => loaded().config.accounts.some((account) => account.id === id && account.visible);
  return {
    quota,
    known: (accounts) => reads.firstReads(accounts),
    routable: ({ assignments }) =>
      assignments.flatMap(({ account, active, eligible }) =>
        active && eligible && isVisible(account) && capacity.health.routable(account, '(pool-usage)') ? account : [],
      ),
  };
}

function mcpSources(services: Services, process: ProcessState): McpSources {
  const { accounting, capacity, catalog, clock, continuity, loaded, models, store, usage } = services;
  return {
    config: () => loaded().config,
    now: () => clock.wallTime(),
    startedAt: process.startedAt,
    ready: () => process.ready,
    store,
    capacity: () => capacity.status(),
    inFlight: (account, pools) => capacity.selection.candidates.inFlight(account, pools),
    admission: (pools) => capacity.admission.status(pools),
    quota: () => usage.quota.status(),
    catalogs: () => catalog.accounts.status(),
    models,
    limits: (key) => accounting.limits(key),
    rules: RULES,
    providerOf: services.providerOf,
    live: liveModels(services),
    sessionAccount: (key, value) => continuity.accountOf(key, value),
  };
}

export function turnHost({ capacity, clock, counters, files, log, models, replies, tokens }: Services): TurnHost {
  return {
    surfaces: SURFACES,
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    after: (ms, run) => clock.after(ms, run),
    findModel: (pool, id) => models.find(pool, id),
    findFile: (pool, id) => files.find(pool.id, id),
    presenceOf: (pool, id) => models.presence(pool, id),
    recoversIn: (pool, id) => capacity.recoversIn(pool, id),
    replyMemory: { guard: replies, counters },
    countTokens: (texts) => tokens.count(texts),
    pause: () => setImmediate(),
    fault: (thrown, requestId) => {
      counters.add('server_errors');
      log.error('unexpected_error', { request_id: requestId, ...placeOf(thrown) });
    },
  };
}
