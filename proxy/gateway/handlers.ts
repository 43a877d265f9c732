// The handlers of turns: the gateway's own answers, dispatch to accounts, and the runner that uses both.
import { RULES } from '../../rules/index.ts';
import { fileDeniedAnswers, fileListAnswers, fileReadAnswers } from '../answers/file-answers.ts';
import { keyUsageAnswers } from '../answers/key-usage.ts';
import { modelAnswer, tokenCountAnswers } from '../answers/message-answers.ts';
import { catalogAnswers, modelAnswers } from '../answers/model-lists.ts';
import { poolUsageAnswers } from '../answers/pool-usage.ts';
import { usagePageAnswers } from '../answers/usage-page.ts';
import { placeOf } from '../base/process/log.ts';
import { dispatchServices } from '../dispatch/dispatch-services.ts';
import { ReplyObservers } from '../dispatch/reply/reply-observers.ts';
import { fileFollowUps } from '../files/file-follow-ups.ts';
import { mcpAnswers } from '../mcp/mcp-answers.ts';
import type { ProcessState } from '../mcp/mcp-sources.ts';
import { TurnRunner } from '../server/turn-runner.ts';
import { SURFACES } from '../surfaces/surfaces.ts';
import type { Surface } from '../turn/surface.ts';
import { SurfaceSet } from '../turn/surface-set.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import type { Services } from './services.ts';

export function turnRunner(services: Services, process: ProcessState): TurnRunner {
  const { accounting, catalog, continuity, files, histories, models, usage } = services;
  return new TurnRunner(services, {
    dispatch: dispatchServices(services, {
      observers: new ReplyObservers([continuity.observer, histories.observer, usage.observer]),
      followUps: fileFollowUps(services),
    }),
    answers: {
      catalog: catalogAnswers(models, catalog.whenReady),
      models: modelAnswers(models, catalog.whenReady),
      model: modelAnswer(models),
      'count-tokens': tokenCountAnswers,
      'pool-usage': poolUsageAnswers(services),
      'key-usage': keyUsageAnswers(accounting),
      'usage-page': usagePageAnswers(() => services.loaded().config.wire),
      mcp: mcpAnswers({ services, process, rules: RULES }),
      'file-list': fileListAnswers(files),
      'file-read': fileReadAnswers(files),
      'file-denied': fileDeniedAnswers(files),
    },
  });
}

/** @param more surfaces in addition to those of the kinds */
export function turnHost(services: Services, more: readonly Surface[] = []): TurnHost {
  const { counters, log, replies } = services;
  return {
    services,
    surfaces: new SurfaceSet(SURFACES, more),
    replyMemory: { guard: replies, counters },
    fault: (thrown, requestId) => {
      counters.add('server_errors');
      log.error('unexpected_error', { request_id: requestId, ...placeOf(thrown) });
    },
  };
}
