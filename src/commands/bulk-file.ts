import { randomBytes } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { constants, createReadStream, createWriteStream, fstatSync, openSync, type Stats } from 'node:fs';
import { open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { type Command, Option } from 'commander';
import { decompressAll, notDecompressed } from '../bodies/decompress.ts';
import { OperationalError } from '../errors.ts';
import { type ExportFormat, exportFormats } from '../exports/write-rows.ts';
import { print } from './output.ts';

/** The file name for standard input or output. */
export const STDIO = '-';

/** An export has no format `json`, because a JSON array can only be read as a whole. */
export const importFormats = [...exportFormats, 'json'] as const;

export type FileFormat<Format = ExportFormat> = { format: Format; isCompressed: boolean };

export const formatOption = (formats: readonly string[] = exportFormats) =>
  new Option('--format <format>', 'file format (default: from the file name; ndjson if there is none)').choices(
    formats,
  );

/** Infers the format from a file name such as `plants.csv.gz`, unless `given`. @throws a usage error if the name implies none */
export const formatOf = <Format extends string>(
  command: Command,
  file: string,
  formats: readonly (Format | 'ndjson')[],
  given?: Format,
): FileFormat<Format | 'ndjson'> => {
  const name = file.toLowerCase();
  const isCompressed = name.endsWith('.gz');
  const named = formats.find((format) => (isCompressed ? name.slice(0, -3) : name).endsWith(`.${format}`));
  const format = given ?? named ?? (file === STDIO ? 'ndjson' : undefined);
  if (format) return { format, isCompressed };
  const advice = `add --format ${formats.join(' or ')}`;
  return command.error(`error: cannot tell the format from the file name ${file}; ${advice}`);
};

/** @returns the size in bytes; NaN if there is none, as for a pipe. @throws {OperationalError} the file cannot be read */
export const sizeOf = async (file: string): Promise<number> => {
  if (file === STDIO) return Number.NaN;
  const found = await stat(file).catch((error) => {
    throw new OperationalError(
      error.code === 'ENOENT' ? `${file} does not exist.` : `${file} cannot be read: ${error.message}`,
    );
  });
  if (found.isDirectory()) throw new OperationalError(`${file} is a folder, not a file.`);
  return found.isFile() ? found.size : Number.NaN;
};

/** Opens a named pipe, without a call that waits for its other side: nothing could cancel it, and the process not exit. */
const openPipe = async (file: string, flags: number, signal: AbortSignal): Promise<Socket> => {
  for (;;) {
    signal.throwIfAborted();
    try {
      const fd = openSync(file, flags | constants.O_NONBLOCK);
      return new Socket({ fd, readable: flags === constants.O_RDONLY, writable: flags === constants.O_WRONLY });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    }
    // It has no reader yet.
    await setTimeout(50);
  }
};

const openToRead = async (file: string, signal: AbortSignal): Promise<Readable> => {
  if (file === STDIO) return process.stdin;
  return (await stat(file)).isFIFO() ? openPipe(file, constants.O_RDONLY, signal) : createReadStream(file);
};

/**
 * @param progress counts the bytes that are read, before decompression
 * @throws {StoreError} 1000 the file could not be decompressed; file system errors, or the signal's reason
 */
export const readFileBytes = (
  file: string,
  { isCompressed }: Pick<FileFormat, 'isCompressed'>,
  { signal, progress }: { signal: AbortSignal; progress: { bytes: number } },
): AsyncIterable<Buffer> => {
  const bytes = async function* (): AsyncGenerator<Buffer> {
    const stream = await openToRead(file, signal);
    using _listener = addAbortListener(signal, () => stream.destroy(signal.reason));
    for await (const chunk of stream) {
      progress.bytes += chunk.length;
      yield chunk;
    }
  };
  return isCompressed ? decompressAll(bytes(), createGunzip(), (cause) => notDecompressed(cause, 'file')) : bytes();
};

/**
 * Writes a temporary file in the same folder, then renames it. The file is never incomplete, even after a crash.
 * @throws {OperationalError} {OutputError} errors of `bytes`, or the signal's reason
 */
export const writeFileBytes = async (
  file: string,
  { isCompressed }: FileFormat,
  { bytes, signal }: { bytes: AsyncIterable<Buffer>; signal: AbortSignal },
): Promise<void> => {
  const write = (sink: Writable | typeof printAll): Promise<void> =>
    pipeline([bytes, ...(isCompressed ? [createGzip()] : []), sink], { signal });
  if (file === STDIO) return write(printAll);
  const found = await stat(file).catch(() => undefined);
  // Such as /dev/stdout. Others may have written to it before, or do so afterwards.
  if (found && isSameFile(found, fstatSync(1))) return write(printAll);
  // Writes to a pipe or a device directly instead of replacing it.
  if (found?.isFIFO()) return openPipe(file, constants.O_WRONLY, signal).then(write).catch(failToWrite(file));
  if (found && !found.isFile()) return write(createWriteStream(file)).catch(failToWrite(file));
  // A link may lead to a file that does not exist yet.
  const target = found
    ? await realpath(file)
    : await Promise.all([realpath(dirname(file)), readlink(file)]).then(
        (paths) => resolve(...paths),
        () => file,
      );
  // Renaming would replace even a file that is protected against writing.
  if (found) await open(target, constants.O_WRONLY).then((file) => file.close(), failToWrite(target));
  // Random, because the process id is the same in every container.
  const temporary = `${target}.${randomBytes(6).toString('hex')}.part`;
  const created = await open(temporary, 'wx', found?.mode).catch(failToWrite(target));
  try {
    // Those who may read the file still may, if root replaces that of another account. Others may not change an owner.
    if (found) await created.chown(found.uid, found.gid).catch(() => {});
    // The umask does not concern a file that exists.
    if (found) await created.chmod(found.mode).catch(() => {});
    await write(created.createWriteStream({ flush: true }));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    failToWrite(file)(error);
  }
};

const printAll = async (chunks: AsyncIterable<Buffer>) => {
  for await (const chunk of chunks) await print(chunk);
};

/** Not by their names, because links give a file several. */
export const isSameFile = (one: Stats, other: Stats): boolean =>
  one.isFile() && one.dev === other.dev && one.ino === other.ino;

/** Converts file system errors, which have a path or come from a call that has an open file. Rethrows others. */
export const failToWrite = (file: string) => (error: unknown) => {
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') throw new OperationalError(`The folder ${dirname(file)} does not exist.`);
  const isOfFile = path || ['write', 'ftruncate', 'fsync', 'close'].includes(syscall ?? '');
  throw isOfFile ? new OperationalError(`${file} cannot be written: ${message}`) : error;
};
