import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

// Runs in the image's stage `studio`. Prisma Studio listens on 127.0.0.1 of the container, which published ports do not
// reach: this relays connections to it. Studio must listen on the port that the browser uses.

const STUDIO_PORT = Number(process.env.STUDIO_PORT || 5555);
const RELAY_PORT = 5556;

createServer((client) => {
  const studio = connect(STUDIO_PORT, '127.0.0.1');
  // Closes both if either fails.
  pipeline(client, studio, client, () => {});
}).listen(RELAY_PORT);

process.argv.splice(2, Infinity, 'studio', '--browser', 'none', '--port', String(STUDIO_PORT));
await import('../src/main.ts');
