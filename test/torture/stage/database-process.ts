// A separate process that uses the database: it prints the rows of a query as JSON, or holds a lock until it is killed.
import sqlite3 from 'sqlite3';
import { BUSY_MS, type DatabaseOrder, rowsOf } from './database.ts';

const [, , path = '', text = ''] = process.argv;
const order = JSON.parse(text) as DatabaseOrder;

if ('lock' in order) {
  const database = new sqlite3.Database(path, sqlite3.OPEN_READWRITE);
  database.configure('busyTimeout', BUSY_MS);
  database.exec('BEGIN EXCLUSIVE', (error) => {
    if (error) throw error;
    process.stdout.write('locked\n');
  });
  setInterval(() => undefined, BUSY_MS);
} else process.stdout.write(JSON.stringify(await rowsOf(path, order)));
