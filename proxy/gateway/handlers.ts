// The handlers of turns: the gateway's own answers, dispatch to accounts, and the runner over both.

import { setImmediate } from 'node:timers/promises';
import { RULES } from '../../rules/index.ts';
import { fileDeniedAnswers, fileListAnswers, fileReadAnswers } from '../answers/files.ts';
import { keyUsageAnswers } from '../answers/key-usage.ts';
import { catalogAnswers, modelAnswers } from '../answers/model-lists.ts';
import { poolUsageAnswers } from '../answers/pool-usage.ts';
import { placeOf } from '../base/process/log.ts';
import { Dispatch } from '../dispatch/dispatch.ts';
import { ReplyObservers } from '../dispatch/reply/reply-observers.ts';
import { fileFollowUps } from '../files/file-follow-ups.ts';
import { mcpAnswers } from '../mcp/mcp-answers.ts';
import type { ProcessState } from '../mcp/mcp-sources.ts';
import { TurnRunner } from '../server/turn-runner.ts';
import { SURFACES } from '../surfaces/surfaces.ts';
import type { LiveTurn, TurnHost } from '../turn/live-turn.ts';
import { clientVersionOf } from '../turn/wire/client-version.ts';
import type { Services } from './services.ts';

export function turnRunner(services: Services, process: ProcessState): TurnRunner {
  const { accounting, catalog, continuity, files, models, usage } = services;
  return new TurnRunner(services, {
    dispatch: new Dispatch(services, {
      observers: new ReplyObservers([continuity.observer, usage.observer]),
      followUps: fileFollowUps(services),
      ownHeaders: (turn) => ownHeaders(turn, services),
    }),
    answers: {
      catalog: catalogAnswers(models, catalog.whenReady),
      models: modelAnswers(models, catalog.whenReady),
      'pool-usage': poolUsageAnswers(services),
      'key-usage': keyUsageAnswers(accounting),
      mcp: mcpAnswers({ services, process, rules: RULES }),
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
