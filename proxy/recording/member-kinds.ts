// Determines the kind of a member's value by the member's name: a protocol word, an id, a count, a time, or by default a text.

export type MemberKind = 'word' | 'id' | 'name' | 'model' | 'member' | 'version' | 'base64' | 'count' | 'time' | 'text';

const NAMES: Readonly<Record<Exclude<MemberKind, 'text'>, string>> = {
  word: `type role status object effort summary context verbosity tool_choice phase detail code param syntax execution mode reason include
    service_tier truncation visibility shell_type format plan_type event purpose prompt_cache_retention quality size background output_format
    input_modalities apply_patch_tool_type default_reasoning_level default_verbosity rate_limit_reached_type finish_reason search_content_types
    allowed_callers mode input_fidelity moderation modalities encoding_format owned_by message endpoint active_limit support_verbosity
    default_reasoning_summary experimental_supported_tools available_in_plans web_search_tool_type order allowed_tools
    ws_request_header_x_internal_agent_responses_lite ws_request_header_x_openai_internal_codex_responses_lite`,
  id: `id response_id previous_response_id item_id call_id file_id session_id thread_id turn_id root_turn_id conversation_id conversation
    prompt_cache_key safety_identifier user stream_id encrypted_content system_fingerprint comp_hash etag first_id last_id after
    parent_thread_id installation_id window_id request_id x-models-etag x-request-id`,
  name: 'name namespace server_label limit_name metered_feature',
  model: 'model slug openai-model',
  member: 'required',
  version: 'version minimal_client_version client_version',
  base64: 'b64_json result partial_image_b64 image_b64 data',
  count: `sequence_number output_index content_index summary_index annotation_index partial_image_index index input_tokens output_tokens
    total_tokens cached_tokens reasoning_tokens prompt_tokens completion_tokens audio_tokens image_tokens text_tokens status status_code
    used_percent window_minutes limit_window_seconds reset_after_seconds resets_in_seconds priority context_window max_context_window
    effective_context_window_percent auto_compact_token_limit max_output_tokens max_completion_tokens max_tokens max_tool_calls temperature
    top_p top_logprobs presence_penalty frequency_penalty n limit output_compression partial_images context_length cache_write_tokens
    accepted_prediction_tokens rejected_prediction_tokens`,
  time: 'created_at completed_at expires_at reset_at resets_at created started_at',
};

const KINDS: ReadonlyMap<string, MemberKind> = new Map(
  Object.entries(NAMES).flatMap(([kind, names]) => names.split(/\s+/).map((name) => [name, kind as MemberKind])),
);

/** Matches quota headers, which websockets send as members: `x-codex-primary-used-percent`. */
const QUOTA = /^x-[a-z]+(?:-[a-z]+)*-(used-percent|window-minutes|reset-after-seconds|over-secondary-limit-percent)$/;
const QUOTA_RESET = /^x-[a-z]+(?:-[a-z]+)*-reset-at$/;
const OPAQUE = /(^|[_-])(ids?|key|state)$/;

/** @param name the name in the JSON; '' for a member that is not kept */
export function memberKind(name: string): MemberKind {
  const known = KINDS.get(name);
  if (known !== undefined) return known;
  if (QUOTA.test(name)) return 'count';
  if (QUOTA_RESET.test(name)) return 'time';
  return OPAQUE.test(name) ? 'id' : 'text';
}
