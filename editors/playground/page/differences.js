// differences gives the lines of two texts as [sign, line]: " " for both, "-" for the first's alone, "+" for the second's alone.
export function differences(before, after) {
    const a = before.split("\n"), b = after.split("\n");
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
    const out = a.slice(0, head).map(l => [" ", l]);
    if (x.length * y.length > 4e6) { // a table of so many cells would take seconds
        out.push(...x.map(l => ["-", l]), ...y.map(l => ["+", l]));
    } else {
        // longest[i][j] is the length of the longest common subsequence of x from i on and y from j on.
        const longest = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1));
        for (let i = x.length - 1; i >= 0; i--) {
            for (let j = y.length - 1; j >= 0; j--) longest[i][j] = x[i] === y[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
        }
        let i = 0, j = 0;
        while (i < x.length || j < y.length) {
            if (i < x.length && j < y.length && x[i] === y[j]) {
                out.push([" ", x[i++]]);
                j++;
            } else if (j >= y.length || i < x.length && longest[i + 1][j] >= longest[i][j + 1]) out.push(["-", x[i++]]);
            else out.push(["+", y[j++]]);
        }
    }
    return out.concat(a.slice(a.length - tail).map(l => [" ", l]));
}
