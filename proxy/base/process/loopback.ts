// Recognises the host names and addresses of the loopback interface.

/** @param host a host name or address; IPv6 addresses with or without brackets */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
