import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

// What the image's stage `studio` runs. Prisma Studio listens on 127.0.0.1, where no published port of a container
// leads: this passes connections on to it. Studio answers only to the port that the browser sees, so that is its own.

const STUDIO_PORT = Number(process.env.STUDIO_PORT || 5555);
const RELAY_PORT = 5556;

createServer((client) => {
  const studio = connect(STUDIO_PORT, '127.0.0.1');
  // Whichever end fails, both are closed; there is nobody to tell.
  pipeline(client, studio, client, () => {});
}).listen(RELAY_PORT);

process.argv.splice(2, Infinity, 'studio', '--browser', 'none', '--port', String(STUDIO_PORT));
await import('../src/main.ts');
