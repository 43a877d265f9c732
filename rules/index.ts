// THE ORDER: every rule of the gateway, once. Requests run down this list, replies run up it.
import { authenticate } from './access/authenticate.ts';
import { eligibility } from './access/eligibility.ts';
import { imagePermission } from './access/image-permission.ts';
import { modelAccess } from './access/model-access.ts';
import { routeStatus } from './access/route-status.ts';
import { backendShape } from './dialect/backend-shape.ts';
import { dialectShape } from './dialect/dialect-shape.ts';
import { dropFields } from './dialect/drop-fields.ts';
import { fullRejection } from './dialect/full-rejection.ts';
import { liftInstructions } from './dialect/lift-instructions.ts';
import { liteMarker, markerHeader } from './dialect/lite-marker.ts';
import { liteRewrite } from './dialect/lite-rewrite.ts';
import { liteToolChoice } from './dialect/lite-tool-choice.ts';
import { modelMapping } from './dialect/model-mapping.ts';
import { servingMode } from './dialect/serving-mode.ts';
import { effortAlias } from './effort/effort-alias.ts';
import { effortPolicy } from './effort/effort-policy.ts';
import { outputTokens } from './effort/output-tokens.ts';
import { audio } from './input/audio.ts';
import { inputLists } from './input/input-lists.ts';
import { reasoningContext } from './input/reasoning-context.ts';
import { unsupportedParameters } from './input/unsupported-parameters.ts';
import { agentEvents } from './reply/agent-events.ts';
import { closingError } from './reply/closing-error.ts';
import { fillOutput } from './reply/fill-output.ts';
import { hideQuota } from './reply/hide-quota.ts';
import { publicModel } from './reply/public-model.ts';
import { usage } from './reply/usage.ts';
import type { Rule } from './rule.ts';
import { customTools } from './tools/custom-tools.ts';
import { lowerSchemas } from './tools/lower-schemas.ts';
import { namespaceRestoration } from './tools/namespace-restoration.ts';
import { remoteMcp } from './tools/remote-mcp.ts';
import { strictRepair } from './tools/strict-repair.ts';
import { strictSchemas } from './tools/strict-schemas.ts';
import { toolChoice } from './tools/tool-choice.ts';
import { toolNames } from './tools/tool-names.ts';
import { toolTypes } from './tools/tool-types.ts';

export const RULES: readonly Rule[] = [
  authenticate, // nothing else happens without a key (AU1)
  routeStatus, // unsupported rows need a key as well, and nothing more (E1)
  imagePermission, // before the body is read (F6.1)

  markerHeader, // before liteMarker adds ours (F2.4)
  closingError, // on the way back, behind everything that edits events
  agentEvents, // likewise
  hideQuota, // likewise, on native streams
  publicModel, // likewise
  fillOutput, // on the way back after namespaceRestoration: it collects the items as clients get them

  modelAccess, // the model's policy before anything of its content (Q4)
  servingMode, // the row of a turn that is refused further down says its mode as well (RM1)
  unsupportedParameters, // parameters that would be refused whatever they hold
  inputLists, // every rule below finds lists
  remoteMcp, // on both surfaces, before the public list of types says less clearly the same
  toolTypes, // the closed list, before the shape of each type
  customTools, // shapes, before names are compared
  toolNames, // unique names, before a choice is looked up among them
  liteToolChoice, // Lite takes no map at all, declared or not (F2.12, F5.3)
  toolChoice, // resolves to something declared
  strictSchemas, // roots are judged as the client wrote them
  strictRepair, // fills what is evident below a sound root
  namespaceRestoration, // remembers declared names
  audio, // the last look at content
  reasoningContext, // normalised before Lite forces its own
  dialectShape, // members that the dialects below will edit
  effortPolicy, // after model denial (F4.4)
  outputTokens, // Q4
  eligibility, // the last refusal that costs nothing (SM5)

  lowerSchemas, // before Lite moves the tools
  effortAlias, // after policy told minimal from low
  liftInstructions, // Full only, before Lite would move instructions
  liteRewrite, // Lite only
  backendShape, // after everything that edits reasoning and include
  modelMapping, // per attempt
  dropFields, // per attempt, before the marker that nothing may drop
  liteMarker, // per attempt, last to touch what goes out
  fullRejection, // before the core tells a refusal
  usage, // on the way back first: it reads what the provider said
];
