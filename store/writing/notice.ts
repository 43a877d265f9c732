// What the store reports to the operator's log: an event and safe fields.

export type Notice = (event: StoreEvent, fields?: Readonly<Record<string, string | number>>) => void;

export type StoreEvent =
  | 'store_clock_differs' // the machine's clock and the database's differ by more than a second
  | 'store_unreachable' // statements of turns fail at once until it is back; what is queued waits
  | 'store_reachable'
  | 'store_not_writable' // what is queued waits; its field `code` is a StoreErrorCode
  | 'store_writable'
  | 'store_in_use' // SQLite; another gateway has the file, now and then again while it does
  | 'store_alone' // that other gateway has ended
  | 'store_feed_lost' // changes of other nodes are polled until it is back
  | 'store_feed_connected';
