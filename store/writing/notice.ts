// What the store reports to the operator's log: an event and safe fields.

export type Notice = (event: StoreEvent, fields?: Readonly<Record<string, string | number>>) => void;

export type StoreEvent =
  | 'store_clock_differs' // the clocks of the machine and of the database differ by more than a second
  | 'store_unreachable' // statements of turns fail at once until it can be reached again; queued rows wait
  | 'store_reachable'
  | 'store_not_writable' // queued rows wait; the field `code` is a StoreErrorCode
  | 'store_writable'
  | 'store_in_use' // SQLite; another gateway has the file; repeated while it does
  | 'store_alone' // that other gateway has ended
  | 'store_feed_lost' // changes of other nodes are polled until it is back
  | 'store_feed_connected';
