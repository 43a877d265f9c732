// Route kinds: what serves a row of the route table.

/** What serves a route; the `serve` word of its row. Rules name the kinds that they take part in. */
export type RouteKind =
  | 'catalog' // GET …/models of the backend surface
  | 'responses' // native Responses, HTTP and websocket
  | 'compact' // native compaction
  | 'image' // native image proxy
  | 'chat' // Chat Completions, on /v1 and as a backend alias
  | 'forward' // exact pass-through rows: control plane, key sets
  | 'file-create' // POST /backend-api/files
  | 'file-finish' // POST /backend-api/files/{file_id}/uploaded
  | 'transcribe' // POST /backend-api/transcribe
  | 'pool-usage' // the three usage paths of section C
  | 'models' // GET /v1/models
  | 'public-responses' // /v1/responses, HTTP and websocket
  | 'key-usage' // GET /v1/usage
  | 'public-file-create' // POST /v1/files
  | 'file-list' // GET /v1/files
  | 'file-read' // GET /v1/files/{file_id}
  | 'file-denied' // content and delete: ownership, then unsupported_endpoint
  | 'public-transcription' // POST /v1/audio/transcriptions
  | 'public-image' // POST /v1/images/generations, /edits
  | 'mcp';
