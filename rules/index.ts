// THE ORDER: lists every rule of the gateway once. Requests run down this list, replies run up it.
import type { Rule } from '../proxy/turn/rules/rule.ts';
import { authenticate } from './access/authenticate.ts';
import { authenticateOperator } from './access/authenticate-operator.ts';
import { eligibility } from './access/eligibility.ts';
import { imagePermission } from './access/image-permission.ts';
import { modelAccess } from './access/model-access.ts';
import { modelAlias } from './access/model-alias.ts';
import { operatorHost } from './access/operator-host.ts';
import { routeStatus } from './access/route-status.ts';
import { forcedTranscriptionModel } from './audio/forced-transcription-model.ts';
import { languageDetection } from './audio/language-detection.ts';
import { transcriptionFields } from './audio/transcription-fields.ts';
import { transcriptionLists } from './audio/transcription-lists.ts';
import { transcriptionModel } from './audio/transcription-model.ts';
import { transcriptionUsage } from './audio/transcription-usage.ts';
import { compactionAnswer } from './compaction/compaction-answer.ts';
import { compactionProjection } from './compaction/compaction-projection.ts';
import { compactionReplay } from './compaction/compaction-replay.ts';
import { compactionTrigger } from './compaction/compaction-trigger.ts';
import { requestCompression } from './compression/request-compression.ts';
import { backendShape } from './dialect/backend-shape.ts';
import { dialectShape } from './dialect/dialect-shape.ts';
import { dropFields } from './dialect/drop-fields.ts';
import { fullRejection } from './dialect/full-rejection.ts';
import { jsonMention } from './dialect/json-mention.ts';
import { knownFields } from './dialect/known-fields.ts';
import { liftInstructions } from './dialect/lift-instructions.ts';
import { liteMarker, markerHeader } from './dialect/lite-marker.ts';
import { liteRewrite } from './dialect/lite-rewrite.ts';
import { liteToolChoice } from './dialect/lite-tool-choice.ts';
import { modelMapping } from './dialect/model-mapping.ts';
import { servingMode } from './dialect/serving-mode.ts';
import { systemRole } from './dialect/system-role.ts';
import { effortAlias } from './effort/effort-alias.ts';
import { effortPolicy } from './effort/effort-policy.ts';
import { effortRecord } from './effort/effort-record.ts';
import { outputTokens } from './effort/output-tokens.ts';
import { embeddings } from './embeddings/embeddings.ts';
import { fileForm } from './files/file-form.ts';
import { fileInputs } from './files/file-inputs.ts';
import { fileMetadata } from './files/file-metadata.ts';
import { filePath } from './files/file-path.ts';
import { imageModel } from './images/image-model.ts';
import { audio } from './input/audio.ts';
import { capsules } from './input/capsules.ts';
import { inputLists } from './input/input-lists.ts';
import { itemReferences } from './input/item-references.ts';
import { reasoningContext } from './input/reasoning-context.ts';
import { translation } from './input/translation.ts';
import { unsupportedParameters } from './input/unsupported-parameters.ts';
import { agentEvents } from './reply/agent-events.ts';
import { closingError } from './reply/closing-error.ts';
import { fillOutput } from './reply/fill-output.ts';
import { hideQuota } from './reply/hide-quota.ts';
import { leadingKeepalives } from './reply/leading-keepalives.ts';
import { publicMetadata } from './reply/public-metadata.ts';
import { publicModel } from './reply/public-model.ts';
import { publicUser } from './reply/public-user.ts';
import { turnMetadata } from './reply/turn-metadata.ts';
import { usage } from './reply/usage.ts';
import { customTools } from './tools/custom-tools.ts';
import { namespaceRestoration } from './tools/namespace-restoration.ts';
import { remoteMcp } from './tools/remote-mcp.ts';
import { lowerSchemas } from './tools/schemas/lower-schemas.ts';
import { strictRepair } from './tools/schemas/strict-repair.ts';
import { strictSchemas } from './tools/schemas/strict-schemas.ts';
import { toolChoice } from './tools/tool-choice.ts';
import { toolNames } from './tools/tool-names.ts';
import { toolTypes } from './tools/tool-types.ts';
import { webSearchNames } from './tools/web-search-names.ts';

export const RULES: readonly Rule[] = [
  authenticate, // first: every route but /mcp needs a key (AU1)
  routeStatus, // unsupported rows need only a key (E1)
  operatorHost, // before the token: a page of another host must not learn whether a token is valid (Q25)
  authenticateOperator, // /mcp, before its body is read (AU2)
  imagePermission, // before the body is read (F6.1)

  markerHeader, // before liteMarker adds ours (F2.4)
  closingError, // reply: after every rule that edits events
  agentEvents, // reply: after usage, which reads the provider's events
  leadingKeepalives, // reply: at any place, because the first event that it lets pass is `response.created`
  publicMetadata, // reply: after usage, like agentEvents; it edits the headers inside events
  hideQuota, // reply: after usage, like agentEvents; on native streams
  turnMetadata, // reply: before hideQuota, which edits the headers of what it makes
  publicModel, // reply: after usage
  fillOutput, // reply: after namespaceRestoration, so that it collects the items as clients get them
  compactionAnswer, // reply: after usage, which reads the provider's answer

  embeddings, // a route of its own, with all of its checks

  fileForm, // requests without a model need no other checks
  fileMetadata,
  filePath,

  transcriptionFields, // checks that a field is known, before its value is checked
  forcedTranscriptionModel,
  transcriptionModel,
  transcriptionLists,
  languageDetection,

  modelAlias, // replaces an alias, before the model is looked up
  modelAccess, // checks the model, before the content of the body (Q4)
  imageModel, // checks the model of images, before the content; the model may be in no catalog (A10)
  servingMode, // before the refusals below, whose rows note the mode (RM1)
  translation, // before every rule that reads more of a body than its model
  unsupportedParameters, // before the shapes of supported parameters are checked
  inputLists, // makes lists for every rule below
  compactionTrigger, // checks the place of the trigger, before the shape of other items
  compactionReplay, // names items of input by their index, so before itemReferences
  remoteMcp, // before toolTypes, whose refusal of the same tools is less specific
  webSearchNames, // before toolTypes and toolChoice, which accept only the plain name
  toolTypes, // checks the type, before the shape of tools of that type
  customTools, // checks the shape, before names are compared
  toolNames, // checks that names are unique, before a choice is looked up
  liteToolChoice, // before toolChoice, because Lite accepts no map, declared or not (F2.12, F5.3)
  toolChoice, // checks that the choice is a declared tool
  strictSchemas, // checks roots as the client wrote them
  strictRepair, // fills in types below roots that strictSchemas accepted
  namespaceRestoration, // reads declared names before tools are moved
  audio, // before the files are looked up, because it needs no read
  fileInputs, // the last check that names items of input
  itemReferences, // after every check that names items of input by their index, because it removes some
  capsules, // after the checks of compaction items, and before instructions are lifted: a summary is a message
  reasoningContext, // before Lite forces its own context
  dialectShape, // checks members that the dialects below edit
  effortPolicy, // after the denial of a model (F4.4)
  outputTokens, // after the effort policy (Q4)
  eligibility, // the last refusal that costs nothing (SM5)

  effortAlias, // after the policy has distinguished minimal from low
  effortRecord, // after the alias: the effort as it is sent
  lowerSchemas, // before Lite moves the tools
  liftInstructions, // Full only
  systemRole, // what could not be lifted, and in Lite all system messages
  jsonMention, // reads what was lifted
  requestCompression, // edit phase, so that refused turns do not pay for it; before Lite, whose own items hold no outputs (F7)
  liteRewrite, // edit phase, to run after compression; Lite only
  backendShape, // edit phase; after every rule that edits reasoning and include
  compactionProjection, // per attempt; after the Lite rewrite (F2.15), and before the account's drop_fields apply
  modelMapping, // per attempt
  knownFields, // per attempt, before the account's drop_fields apply
  dropFields, // per attempt, before the marker, which no setting may remove
  liteMarker, // per attempt, the last edit
  fullRejection, // replaces a refusal before dispatch answers it
  publicUser, // reply: after usage; not beside publicModel, because it reads the body
  usage, // reply: first, so that it reads what the provider sent
  transcriptionUsage, // reply: first, so that it reads what the provider sent
];
