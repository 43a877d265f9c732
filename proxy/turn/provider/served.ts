// What an API account serves, the tools that its provider runs, and the kinds of input that its models take (AA7, AA13).

/** The kinds of requests that an account can answer (AA13). */
export const SERVED = ['turns', 'compact', 'images', 'transcriptions', 'files', 'embeddings'] as const;

export type Served = (typeof SERVED)[number];

/** The tools that a provider can run by itself (AA13). */
export const HOSTED_TOOLS = ['web_search', 'image_generation'] as const;

export type HostedTool = (typeof HOSTED_TOOLS)[number];

export const MODALITIES = ['text', 'image', 'audio', 'file'] as const;

export type Modality = (typeof MODALITIES)[number];

/** How an API account compacts. `summary`: with one turn that asks for a summary (AA48). */
export type ApiCompaction = 'route' | 'trigger' | 'summary' | 'none';
