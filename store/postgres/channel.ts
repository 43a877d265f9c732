// The channel of the notifications of changes. Each schema has its own, because several installations may share a database.

/** SQL. A channel has at most 63 bytes, and so has the name of a schema: a long one is replaced by its digest. */
export const CHANNEL =
  "'poolgate.' || CASE WHEN octet_length(current_schema()::text) > 54 THEN md5(current_schema()) ELSE current_schema()::text END";
