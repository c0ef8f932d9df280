// The files of one run, in memory, behind the part of Node's fs that Go's syscall package asks for (GOOS=js).
// Descriptors 0, 1 and 2 are streams: what is written to 1 and 2 is given away at once, reading 0 waits for input.

const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536, O_SYNC: 1052672 };
const regular = 0o100644, directory = 0o040755, stream = 0o010644;

function failure(code) {
    const e = new Error(code);
    e.code = code;
    return e;
}

// absolute is a path from the root, without "." and "..".
function absolute(path) {
    const parts = [];
    for (const part of path.split("/")) {
        if (part === "..") parts.pop();
        else if (part !== "" && part !== ".") parts.push(part);
    }
    return "/" + parts.join("/");
}

const parent = path => path.slice(0, path.lastIndexOf("/")) || "/";

export class Files {
    constants = constants;
    #nodes = new Map([["/", null], ["/tmp", null]]); // path to bytes; null is a folder
    #open = new Map();
    #next = 3;
    #input = [];
    #ended = false;
    #reader = null;

    // files are texts by name; onOutput is called with a descriptor, 1 or 2, and the bytes written to it.
    constructor(files, onOutput) {
        for (const [name, text] of Object.entries(files)) this.#nodes.set(absolute(name), new TextEncoder().encode(text));
        this.onOutput = onOutput;
    }

    // give hands bytes to who reads stdin; null ends it.
    give(bytes) {
        if (bytes === null) this.#ended = true;
        else this.#input.push(bytes);
        this.#feed();
    }

    #feed() {
        const r = this.#reader;
        if (!r || this.#input.length === 0 && !this.#ended) return;
        this.#reader = null;
        if (this.#input.length === 0) return r.callback(null, 0);
        const head = this.#input[0], n = Math.min(head.length, r.length);
        r.buffer.set(head.subarray(0, n), r.offset);
        if (n === head.length) this.#input.shift();
        else this.#input[0] = head.subarray(n);
        r.callback(null, n);
    }

    #stat(path) {
        if (!this.#nodes.has(path)) throw failure("ENOENT");
        const bytes = this.#nodes.get(path);
        return this.#info(bytes === null ? directory : regular, bytes?.length ?? 0);
    }

    #info(mode, size) {
        return {
            dev: 1, ino: 0, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0,
            isDirectory: () => mode === directory,
        };
    }

    #file(fd) {
        const f = this.#open.get(fd);
        if (!f) throw failure("EBADF");
        return f;
    }

    #do(callback, work) {
        let value;
        try {
            value = work();
        } catch (e) {
            callback(e.code ? e : failure("EIO"));
            return;
        }
        callback(null, value);
    }

    writeSync(fd, bytes) {
        this.onOutput(fd, bytes.slice());
        return bytes.length;
    }

    write(fd, buffer, offset, length, position, callback) {
        const bytes = buffer.subarray(offset, offset + length);
        this.#do(callback, () => {
            if (fd <= 2) return this.writeSync(fd, bytes);
            const f = this.#file(fd), old = this.#nodes.get(f.path) ?? new Uint8Array();
            const at = f.append ? old.length : position ?? f.at;
            const now = new Uint8Array(Math.max(old.length, at + length));
            now.set(old);
            now.set(bytes, at);
            this.#nodes.set(f.path, now);
            if (position === null) f.at = at + length;
            return length;
        });
    }

    read(fd, buffer, offset, length, position, callback) {
        if (fd === 0) {
            this.#reader = { buffer, offset, length, callback };
            this.#feed();
            return;
        }
        this.#do(callback, () => {
            const f = this.#file(fd), bytes = this.#nodes.get(f.path);
            if (bytes === null) throw failure("EISDIR");
            const at = position ?? f.at, part = bytes.subarray(at, at + length);
            buffer.set(part, offset);
            if (position === null) f.at = at + part.length;
            return part.length;
        });
    }

    open(path, flags, mode, callback) {
        this.#do(callback, () => {
            path = absolute(path);
            const there = this.#nodes.has(path);
            if (there && flags & constants.O_CREAT && flags & constants.O_EXCL) throw failure("EEXIST");
            if (!there) {
                if (!(flags & constants.O_CREAT) || !this.#nodes.has(parent(path))) throw failure("ENOENT");
                this.#nodes.set(path, new Uint8Array());
            }
            const isFolder = this.#nodes.get(path) === null;
            if (isFolder && flags & (constants.O_WRONLY | constants.O_RDWR)) throw failure("EISDIR");
            if (!isFolder && flags & constants.O_DIRECTORY) throw failure("ENOTDIR");
            if (flags & constants.O_TRUNC) this.#nodes.set(path, new Uint8Array());
            this.#open.set(this.#next, { path, at: 0, append: Boolean(flags & constants.O_APPEND) });
            return this.#next++;
        });
    }

    close(fd, callback) {
        this.#do(callback, () => {
            if (fd > 2 && !this.#open.delete(fd)) throw failure("EBADF");
        });
    }

    stat(path, callback) { this.#do(callback, () => this.#stat(absolute(path))); }
    lstat(path, callback) { this.stat(path, callback); }
    fstat(fd, callback) { this.#do(callback, () => fd <= 2 ? this.#info(stream, 0) : this.#stat(this.#file(fd).path)); }
    fsync(fd, callback) { callback(null); }
    chmod(path, mode, callback) { callback(null); }
    fchmod(fd, mode, callback) { callback(null); }
    utimes(path, atime, mtime, callback) { callback(null); }

    ftruncate(fd, length, callback) {
        this.#do(callback, () => {
            const { path } = this.#file(fd), now = new Uint8Array(length);
            now.set(this.#nodes.get(path).subarray(0, length));
            this.#nodes.set(path, now);
        });
    }

    mkdir(path, mode, callback) {
        this.#do(callback, () => {
            path = absolute(path);
            if (this.#nodes.has(path)) throw failure("EEXIST");
            if (this.#nodes.get(parent(path)) !== null) throw failure("ENOENT");
            this.#nodes.set(path, null);
        });
    }

    readdir(path, callback) {
        this.#do(callback, () => {
            path = absolute(path);
            if (this.#nodes.get(path) !== null) throw failure(this.#nodes.has(path) ? "ENOTDIR" : "ENOENT");
            return [...this.#nodes.keys()].filter(p => p !== "/" && parent(p) === path).map(p => p.slice(p.lastIndexOf("/") + 1));
        });
    }

    rename(from, to, callback) {
        this.#do(callback, () => {
            from = absolute(from);
            if (!this.#nodes.get(from)) throw failure(this.#nodes.has(from) ? "EISDIR" : "ENOENT");
            this.#nodes.set(absolute(to), this.#nodes.get(from));
            this.#nodes.delete(from);
        });
    }

    #remove(path) {
        path = absolute(path);
        if (!this.#nodes.delete(path)) throw failure("ENOENT");
    }

    unlink(path, callback) { this.#do(callback, () => this.#remove(path)); }
    rmdir(path, callback) { this.#do(callback, () => this.#remove(path)); }

    // What a run has no use for.
    chown(path, uid, gid, callback) { callback(failure("ENOSYS")); }
    fchown(fd, uid, gid, callback) { callback(failure("ENOSYS")); }
    lchown(path, uid, gid, callback) { callback(failure("ENOSYS")); }
    link(path, link, callback) { callback(failure("ENOSYS")); }
    symlink(path, link, callback) { callback(failure("ENOSYS")); }
    readlink(path, callback) { callback(failure("EINVAL")); }
    truncate(path, length, callback) { callback(failure("ENOSYS")); }
}
