"""Commands that are refused: each is one line that says what is wrong, exit status 2, and no file has changed."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine, status
from support.toy_root import recipe_of, table_of, write_card

from hashbench.foundation import paths

IDS = np.repeat(np.arange(3), 20)  # of the items of custom data sets
N = 60
D = 6

# command -> what its line holds; the files that are named are those of ``write_files``
REFUSALS = {
    "trian": "trian",
    # bench, with labels
    "bench mine --methods itq,nope": "--methods: nope is no method: hashbench list methods",
    "bench mine --methods itq,,ksh": "--methods: an empty name is no method",
    "bench mine --methods digits": "--methods: digits is no method",
    "bench mine --methods itq,ITQ": "--methods itq,ITQ: methods are expected each once",
    "bench mine --methods itq --name ../x": "--name ../x: letters, digits, _, - and dots are expected",
    "bench mine --methods itq --bits 16,x": "--bits 16,x: whole numbers from 1, each once, are expected",
    "bench mine --methods itq --bits 8,8": "--bits 8,8: whole numbers from 1, each once, are expected",
    "bench mine --methods itq --bits 0": "--bits 0: whole numbers from 1",
    "bench mine --methods itq --name kept --tune 1": "kept.toml: it has settings of other features, data or functions",
    "bench mine --methods itq --name talr-table1": "talr_table1.toml: it is there already: give another --name",
    "bench mine --methods sparse_hash": "sparse_hash makes no binary codes",
    "bench mine --methods pq": "pq on mine: bits: Input should be",
    "bench mine --methods lsh,itq --bits 4,8": "itq: 8 bits from 6 features: at most 6 bits: other --bits, or",
    "bench mine --methods pq --bits 8": "pq: 54 training examples: a sub-space has 256 centroids",
    "bench mine --methods opq --bits 32": "opq: 6 features in 4 sub-spaces of 8 bits: 4 must divide 6",
    "bench mine --methods itq --metric ndgc": "unknown metric 'ndgc': did you mean ndcg?",
    "bench mine --methods itq --metric suf": "metric 'suf' is computed from a bucket search",
    "bench mine --methods pq --bits 8 --metric recall@r2": "needs Hamming radii, which the asymmetric",
    "bench mine --methods itq --features mine.pth": "hashbench features mine --model MODEL --weights mine.pth extracts",
    "bench digits --methods itq --target 0.9": "--target: for vectors without labels, and digits has labels",
    "bench digits": "--methods is missing: those that are compared on digits",
    "bench digits --lr .1": "No such option: --lr (Possible options: --help) (hashbench bench -h)",
    # bench, without labels
    "bench vectors.npy --metric ap": "--metric: not for vectors without labels",
    "bench vectors.npy --seeds 2 --tune 1": "--seeds, --tune: not for vectors without labels",
    "bench vectors.npy --bits 17": "--bits 17: no method makes such codes: sign: 17 bits from 16 features: at most",
    "bench vectors.npy --methods itq --bits 32": "itq: 32 bits from 16 features: at most 16 bits",
    "bench vectors.npy --methods sdh": "sdh learns from class labels",
    "bench vectors.npy --methods nope": "--methods: nope is no method",
    "bench vectors.npy --k 361": "--k 361: the database of vectors has 360 items",
    "bench vectors.npy --rescore 0,2": "--rescore 0,2: whole numbers from 1, each once, are expected",
    "bench vectors.npy --name ../x": "--name ../x: letters, digits",
    "bench none.npy": "none.npy: no such file",
    "bench broken.npy": "broken.npy: ",
    "bench mine.npz": "mine.npz: it has labels: hashbench dataset add mine mine.npz",
    "bench usps.npy": "usps is a data set already, of another file or made with options: hashbench dataset add NAME",
    # compare
    "compare codes.npz other.npz --metric pr_area": "metric 'pr_area': its value for a query depends on the other",
    "compare codes.npz other.npz --metric nddcg": "unknown metric 'nddcg': did you mean ndcg",
    "compare codes.npz other.npz --metric suf": "metric 'suf' is computed from a bucket search",
    "compare codes.npz other.npz --bits 8": "--bits is the column of --table; of saved codes: --layout 8",
    "compare codes.npz other.npz --layout 48,middle": "--layout middle: a number of bits, big or little, items-by-bits",
    "compare codes.npz other.npz --csv x.csv": "--csv of hashbench compare is gone: hashbench compare ... --format csv",
    "compare codes.npz other.npz --table digits --metric ap": "--table compares what the table shows: --metric and",
    "compare codes.npz other.npz --exclude-self": "--exclude-self: nothing says which database item a query is",
    "compare codes.npz": "1 to compare: 2 to 26 codes, runs or rows are expected",
    "compare codes.npz away.npz": "away.npz: no such file or folder",
    "compare codes.npz digits-s9": "unknown run 'digits-s9': ",
    "compare codes.npz bare.npz": "bare.npz: query_labels is missing",
    "compare codes.npz fewer.npz": "not the same queries (20 and 19 of them): codes of the same queries",
    "compare codes.npz relabelled.npz": "not the same queries (their labels differ)",
    "compare codes.npz other_database.npz": "other numbers of items of each relevance level in the database",
    "compare named.npz renamed.npz": "not the same queries (their ids differ)",
    "compare irrelevant.npz irrelevant.npz": "no query has a relevant item: there is nothing to compare",
    "compare digits-s1-lsh-16b-s0 codes.npz --exclude-self": "--exclude-self can be used with saved codes only: ",
    "compare digits-s1-lsh codes.npz": "run 'digits-s1-lsh' is not one but 2: digits-s1-lsh",
    "compare digits-s1-lsh-16b-s0 digits-split1-lsh": "unknown run 'digits-split1-lsh'",
    # split, download
    "split digit --protocol s1": "unknown dataset 'digit': did you mean digits",
    "split digits --protocol s9": "unknown protocol of digits 's9': did you mean s1?",
    "split cifar10": "cifar10: which protocol? --protocol NAME is needed: one of cibhash, labelme_stand_in, ",
    "split digits --protocol s1 --seed -1": "Invalid value for '--seed'",
    "split cifar10 --protocol s1": "cifar10 is not downloaded: run hashbench download cifar10",
    "split queried --seed 7": "--seed 7: cannot be used with queried own: its lists are given",
    "split wrong --protocol s1": "wrong s1: splits by label need several labels an item",
    "download digits cifra10": "unknown dataset 'cifra10': did you mean cifar10",
    "download cifar10 --from-dir nowhere": "nowhere: not a folder; name the one that holds",
    "download": "Missing argument",
    "--data circle download usps": "circle",
    "--root circle list methods": "circle",
    "--results circle train lsh digits --bits 8": "circle",
    # dataset add: names
    "dataset add Digits images": "digits.toml is a data set of this name",
    "dataset add mine images": "mine is there already: --replace replaces it",
    "dataset add photos images": "it exists and is no data set of yours",
    "dataset add ../x images": "not the name of a data set: letters, digits, - and _, a letter first",
    "dataset add 7days images": "not the name of a data set",
    "dataset add cards images": "not the name of a data set",
    f"dataset add {'x' * 65} images": "not the name of a data set",
    "dataset remove mine": "hashbench dataset remove is gone: remove NAME/ and cards/",
    # dataset add: folders of images
    "dataset add own nothing": "nothing: no such file or folder",
    "dataset add own empty": "empty: no subfolder in it",
    "dataset add own with_empty": "void: no image in it",
    "dataset add own deep": "images two folders deep: name the folder whose subfolders are the classes (deep/train?)",
    "dataset add own one_class": "one_class: one class only, rose: a subfolder for each is expected",
    "dataset add own outside": "outside/0.png: an image outside of the subfolders",
    "dataset add own cut": "cut/tulip/0.png: not an image that can be read",
    "dataset add own sizes": "sizes: images of 2 sizes, from 4 x 5 to 7 x 9 pixels: give --size N to resize each to N",
    "dataset add own images --labels x": "--labels cannot be combined with a folder of images",
    # dataset add: arrays
    "dataset add own no_items.npz": "which array is it? say --items KEY; it holds a, b",
    "dataset add own two_items.npz": "say --items KEY; it holds data, x, y",
    "dataset add own good.npz --items X": "unknown array 'X'",
    "dataset add own good.npz --labels z": "no file, and no array of good.npz",
    "dataset add own good.npz --queries -1": "--queries -1: a number from 1 is expected",
    "dataset add own good.npz --queries 20/class": "class 0 has 20 items; 20 queries, 0 to train and the database need",
    "dataset add own good.npz --queries 3 --train 2/class": "not both",
    "dataset add own good.npz --size 8": "--size cannot be combined with a file of arrays",
    "dataset add own good.h5 --labels q": "no file, and no array of good.h5",
    "dataset add own few_labels.npz": "labels of shape (59,) for 60 items",
    "dataset add own same_class.npz": "all items have class 0: two classes or more",
    "dataset add own single.npz": "class 3 has 1 item, and a class needs a query and an item to find: ",
    "dataset add own fractions.npz": "labels are whole numbers, strings, or columns",
    "dataset add own one_and_none.npz": "a negative number is no class",
    "dataset add own beyond.npz": "beyond 64 bits, are in it",
    "dataset add own same_items.npz": "all items are the same",
    "dataset add own nan.npz": "nan.npz: x: not finite",
    "dataset add own large.npz": "beyond 1e+18",
    "dataset add own objects.npz": "which can run code and is never opened",
    "dataset add own words.npz": "numbers are expected",
    "dataset add own flat.npz": "features [n, d] or images",
    "dataset add own channels_first.npz": "images are [n, height, width, 1 or 3",
    "dataset add own real_images.npz": "whole numbers from 0 to 255 are expected",
    "dataset add own white.npz": "values from 256 to 256: 0 to 255 are",
    "dataset add own no_label_2.npz": "no item has label 2: leave it out",
    "dataset add own of_2.npz": "labels [n, 2] are 0 or 1",
    "dataset add own text.npz": "text.npz: not a readable",
    "dataset add own /dev/null": "/dev/null: no such file",
    "dataset add own hole.npy --labels hole.h5:labels --queries 1": "MiB free",
    # dataset add: queries that are given
    "dataset add own good.npz wide.npz": "shape (5,) of an item, and those of the database have (6,)",
    "dataset add own good.npz named_classes.npz": "the same kind is expected",
    "dataset add own good.npz few_labels.npz": "labels of shape (59,) for 60 items: one for each is expected",
    "dataset add own good.npz images": "images: the queries are of another kind than good.npz: two folders, or two",
    "dataset add own good.npz train_test.npz": "good.npz, train_test.npz: one of them has a test set: give it alone",
    "dataset add own good.npz missing.npz": "missing.npz: no such file or folder",
    "dataset add own good.npz mine.npz --labels mine.npz:labels": "two files of items hold their own labels",
    "dataset add own good.npz mine.npz --queries 3": "the queries are given: no other option draws queries",
    # dataset add: vectors
    "dataset add own v.npy --queries narrow.npy": "queries of 7 numbers",
    "dataset add own v.npy --queries none_of_8.npy": "none_of_8.npy: shape (0, 8)",
    "dataset add own v.npy --queries 0": "--queries 0: a number from 1 is expected",
    "dataset add own v.npy --queries 200": "200 queries",
    "dataset add own v.npy --queries 2/class": "the vectors have no classes",
    "dataset add own v.npy --labels ids.npy --metric l2": "not both",
    "dataset add own inf.npy": "not finite",
    "dataset add own half_nan.npy": "not finite",
    "dataset add own 1e20.npy": "1e20.npy: a feature is not a finite number",
    "dataset add own norm.npy --metric ip": "not finite (NaN or inf), or of a norm above 1e+18",
    "dataset add own none_of_8.npy": "shape (0, 8): vectors [n, d] are expected",
    "dataset add own one_vector.npy": "1 items",
    "dataset add own cut.fvecs": "are not whole rows of 8 values",
    "dataset add own lengths.fvecs": "not of 8 values",
    "dataset add own hostile.fbin": "72 bytes are not 2,147,483,648 rows",
    "dataset add own empty.fvecs": "empty.fvecs: 0 bytes are not whole rows",
    "dataset add own empty.npy": "empty.npy: not a readable",
    "dataset add own images.npy": "images of shape (200, 4, 2) need labels",
    "dataset add own zero.npy --metric cosine": "row 0 has norm 0, and no cosine",
    "dataset add own ones.npy": "all items are the same",
    "dataset add own shifted.hdf5": "shifted.hdf5: neighbors: query 0: its neighbour number",
    "dataset add own out_of_range.hdf5": "there is no row 200: the database has rows 0 to 199",
    "dataset add own near.hdf5 --metric ip": "has the ip distance",
    "dataset add own jaccard.hdf5": "distance jaccard: one of angular, cosine",
    # eval
    "eval": "nothing to score",
    "eval missing.npz": "missing.npz",
    "eval cut.npz --json": "cut.npz: not a readable .npz file",
    "eval codes.npz --metric nddcg": "did you mean ndcg",
    "eval codes.npz --metric ap@0": "rank",
    "eval codes.npz --metric precision": "cutoff",
    "eval codes.npz --as deephsh": "did you mean deephash",
    "eval codes.npz --per-query codes.npz": "named twice, as an input or an output",
    "eval codes.npz --per-query empty": "empty: a folder, a device or a pipe; the file to be written is expected",
    "eval irrelevant.npz --curves curves --per-query q.csv": "no query has a relevant item",
    "eval codes.npz other.npz --curves out": "cannot be combined with several files that are scored one by one",
    "eval codes.npz --shards x": "--shards of hashbench eval is gone: hashbench eval-shards counts a database",
    "eval codes.npz --csv x": "--csv of hashbench eval is gone: hashbench eval ... --format csv > FILE",
    "eval codes.npz --bits": "--bits of hashbench eval needs a value, and is now --layout VALUE",
    "eval codes.npz --layout 32,64": "--layout: a code has 32 bits or 64, not both",
    "eval none.npz --device gpu": "device",
    "eval codes.npz --exclude-self": "--exclude-self: nothing says which database item a query is",
    "eval codes.npz --array query-ids=ids.npy": "query_ids and database_ids go together: only query_ids is there",
    "eval named.npz --exclude-self --as deephash": "--as cannot be combined with --exclude-self: other code counts",
    "eval codes.npz --weights codes.npz:wieghts": "unknown key 'wieghts'",
    "eval codes.npz --weights codes.npz:database_codes": "16 weights are expected",
    "eval codes.npz --weights codes.npz:negative": "weights must be finite, 0 or more",
    "eval codes.npz --weights nowhere.npy:x": "no such file",
    "eval codes.npz --weights codes.npz:ones --metric precision@r2": "needs Hamming radii",
    "eval codes.npz --weights codes.npz:ones --as sklearn": "--as cannot be combined with --weights",
    "eval bare.npz --neighbours near.npz:beyond": "beyond: there is no row 300: the database has rows 0 to 299",
    "eval bare.npz --neighbours near.npz:twice": "twice: query 4 has the neighbour",
    "eval bare.npz --neighbours near.npz:gap": "gap: query 5 has a neighbour after -1",
    "eval bare.npz --neighbours near.npz:few": "few: ids of 9 queries, codes of 20",
    "eval bare.npz --neighbours near.npz:nearest": "near.npz: unknown key 'nearest'",
    "eval bare.npz --neighbours near.npz": "which array is it? say --neighbours near.npz:KEY",
    "eval bare.npz --neighbours gone.npy": "gone.npy: no such file",
    "eval bare.npz --neighbours near.npz:real": "real: float32 of shape (20, 100)",
    "eval bare.npz --neighbours near.npy --k 101": "--k 101: near.npy",
    "eval bare.npz --k 3": "--k needs --neighbours",
    "eval bare.npz --neighbours near.npy --array query-labels=x.npy": "unknown array 'query-labels'",
    "eval no_queries.npz --neighbours near.npz:none": "no_queries.npz",
    "eval bare.npz --neighbours near.npy --metric nmi": "nmi",
    "eval bare.npz": "query_labels is missing",
    # eval-shards
    "eval-shards codes.npz --shards *b.npz --ties order": "Invalid value for '--ties': 'order' is not one of",
    "eval-shards codes.npz --shards *b.npz --array query-codes": "NAME=FILE:KEY is expected, as in --array query-codes",
    "eval-shards codes.npz --shards *b.npz --array database-codes=x": "unknown array 'database-codes': did you",
    "eval-shards codes.npz --shards *b.npz --exclude-self": "No such option: --exclude-self",
    "eval-shards codes.npz --shards *b.npz --append": "--append of hashbench eval-shards is gone: all shards with",
    "eval-shards codes.npz --shards *b.npz --counts no.h5": "--counts no.h5: a file that ends in .npz is expected",
    "eval-shards codes.npz --shards *b.npz --per-query db.npz": "db.npz: named twice",
    "eval-shards codes.npz --shards *b.npz --per-query a.npz --counts a.npz": "a.npz: named twice",
    "eval-shards codes.npz --shards no-*.h5": "--shards no-*.h5: no such file: a quoted pattern is expected",
    "eval-shards codes.npz --shards *b.npz --shard-labels no-*.h5": "--shard-labels no-*.h5: no such file",
    # features, figure
    "features digits --model gits": "unknown features 'gits': did you mean gist",
    "features digits --model vggf": "weights of vggf not found",
    "features digits --model pixels --device tpu9": "device 'tpu9' is not here",
    "features digits --model pixels --batch 0": "greater than or equal to 1",
    "features digits": "Missing option '--model'",
    "figure": "name the figures to draw, or use --all (hashbench list figures shows their names)",
    "figure talr_figre1": "unknown figure 'talr_figre1': did you mean talr_figure1",
    # index
    "index items.npz queries.npz --k 1 --out queries.npz": "named twice",
    "index items.npz queries.npz": "say with --k",
    "index items.npz queries.npz --k 4": "k = 4, activations of shape (4, 3)",
    "index no_d.npz queries.npz --embeddings items.npz": "'activations' is expected; it holds 'buckets'",
    "index half.npz queries.npz --embeddings items.npz": "whole numbers",
    "index items.npz no_embeddings.npz --k 1": "'embeddings' is expected",
    "index items.npz flat_activations.npz --k 1": "numbers [n, m] are expected",
    "index items.npz queries.npz --k 1": "top 10: a query can find 1 to 4",
    "index items.npz queries.npz --k 1 --exclude-self": "2 queries, 4 items",
    "index build items.npz": "hashbench index build is gone: hashbench index ITEMS QUERIES",
    # list, show
    "list methods --bibtex": "--bibtex can be used with hashbench list papers only",
    "list method": "did you mean methods",
    "list paper": "unknown kind 'paper': did you mean papers",
    "list tables --only method=lsh": "--only can be used with hashbench list runs and protocols only",
    "list runs --only bit=24": "unknown key of --only 'bit': did you mean bits?",
    "show talr": "nothing is called 'talr': did you mean talr_ap (method), talr_appendix_d (table), talr_figure1",
    "list settings": "settings are listed for one table: hashbench list settings TABLE (hashbench list tables)",
    "show zzzzz": "nothing is called 'zzzzz': it is no method, dataset, table, figure, run, metric, model, features",
    "show lsh --kind table": "--kind of hashbench show is gone: hashbench show KIND/NAME",
    "show table/lsh": "nothing is called 'lsh': it is no table (hashbench list shows the names)",
    "show digits-s1": "nothing is called 'digits-s1': 2 runs begin so (hashbench list runs)",
    # results
    "results merge results": "results: the folder that rows are merged into: name another one",
    "results merge away": "away: not a results folder: one with a folder rows in it is expected",
    "results collect digits": "is gone: hashbench bundle TABLE",
    # run, status, table
    "run digts": "unknown table 'digts': did you mean digits",
    "run digits --seeds 0": "--seeds",
    "run tiny --only bits": "--only 'bits': KEY=VALUE is expected, as in --only bits=32",
    "run tiny --only bits=9": "--only bits=9: unknown bits '9': one of 12, 24",
    "run tiny --dry-run --jobs 0": "--jobs 0: a whole number from 1 on, or auto",
    "run tiny --dry-run --jobs 2.5": "--jobs 2.5: a whole number from 1 on, or auto",
    "run record --splits 2": '--splits of hashbench run is gone: repeats = "splits" in the file of the table',
    "run record --seeds 6": "a repeat of record is a split, and searches leave out the queries of 5 splits: 5 at most",
    "status record --seeds 6": "--seeds 6: a repeat of record is a split",
    "status --budget full": "--budget of hashbench status is gone: a table at a budget is TABLE@BUDGET",
    "status x": "unknown table 'x'",
    "table": "name the tables",
    "table tinny": "unknown table 'tinny': did you mean tiny",
    "table tiny --format word": "'word' is not one of",
    # search
    "search digits-s1-lsh-16b-s0 none": "none",
    "search no-such-run": "no-such-run",
    "search codes.npz --out a.png": "a.png: ids and distances are written to an .npz: name a FILE.npz",
    "search codes.npz --out codes.npz": "codes.npz: named twice, as an input or an output",
    "search codes.npz images": "images: your own queries are encoded by a run, and codes.npz has only codes: name a",
    "search no/such.npz": "no/such.npz: no such file",
    "search none.npy": "none.npy: no such file",
    "search": "nothing to search: name a run or codes, or both query-codes and database-codes by --array",
    "search --array query-codes=codes.npz": "nothing to search: name a run or codes",
    "search digits-s1-lsh-16b-s0 grey.png --out grey.png": "name a FILE.npz",
    # speed
    "speed talr_ap cifar10 --protocol s1 --bits 8 --model small_cnn": "not here: the data set cifar10",
    "speed talr_ap nuswide21 --protocol s1 --bits 8 --model linear": "not here: the data set nuswide21",
    "speed talr_ap digits --bits 8 --model vggf": "not here: the weights of vggf: get https://",
    "speed talr_ap digits --bits 8 --model mlp --set features=gist": "not here: the features gist",
    "speed talr_ap digits --bits 8 --precision fastest": "precision 'fastest': one of auto, float32, bf",
    "speed talr_ap digits --bits 8 --device cuda:99": "device 'cuda:99' is not here",
    "speed itq digits --bits 8": "itq trains no network, so it has no steps to time; no row says how long",
    # train, encode
    "train lsh digits --bits 0": "bits: Input should be greater than or equal to 1, got 0",
    "train lsh digits --bits eight": "--bits",
    "train itq digits --bits 100": "100 bits from 64 features: at most 64 bits",
    "train classifier-codes digits --bits 3": "3 bits for 10 classes: at least",
    "train lsh digits --bits 8 --set centre": "KEY=VALUE",
    "train lsh digits --bits 8 --set center=true": "did you mean centre",
    "train lsh digits --bits 8 --set centre=1": "centre: true, false or range is expected, got 1",
    "train lsh digits --bits 8 --seed -1": "a seed is 0 or more",
    f"train lsh digits --bits 8 --seed {2**63}": f"{2**63}",
    "train talr-ap digits --bits 8 --device tpu": "device 'tpu'",
    "train talr-ap digits --bits 8 --model mlp --set batch_size=1": "batch_size: Input should be greater than or equal",
    "train lsh cifar10 --bits 8": "cifar10: which protocol? --protocol NAME is needed: one of cibhash",
    "train lsh cifar10 --protocol s1 --bits 8": "hashbench download cifar10",
    "train talr_ap sift1m --protocol structhash --bits 8": "talr_ap learns from labels or percentiles of distances",
    "train itq queried --bits 4 --split 1": "split 1: nothing is drawn in queried own, its ids are given: it has one",
    "train itq queried --protocol other_held_out --bits 4": "unknown protocol of queried 'other_held_out'",
    "train itq digits --lr .1": "No such option: --lr; a setting of a method is given as --set lr=VALUE",
    "train itq digits --batch-size=9": "--set batch_size=VALUE",
    "train itq digits --bit 8": "(Possible options: --bits, --budget, --split); a setting",
    "encode nothing --out x.npz": "unknown run 'nothing'",
    "encode .. --out x.npz": "..: run.json is missing",
    "encode digits-s1-lsh-16b-s0 shape.npy --out x.npz": "shape.npy",
    "encode digits-s1-lsh-16b-s0 nan_items.npy --out x.npz": "nan_items.npy",
    "encode digits-s1-lsh-16b-s0 no_images.npy --out x.npz": "no_images.npy",
    "encode digits-s1-lsh-16b-s0 text_items.npy --out x.npz": "text_items.npy",
    "encode digits-s1-lsh-16b-s0 ids.npy --out x.npz": "ids.npy",
    "encode digits-s1-lsh-16b-s0 grey.png --out grey.png": "named twice",
    # tune
    "tune lsh": "a data set is missing: one of ",
    "tune digits": "a method is missing: one of ",
    "tune lsh digts": "unknown dataset 'digts': did you mean digits?",
    "tune lsh digits --recipe mlp_digts": "unknown recipe 'mlp_digts': did you mean mlp_digits",
    "tune lsh digits --recipe mlp_digits": "recipe mlp_digits is for mlp networks or hash functions, and lsh",
    "tune lsh digits --set centr=true": "unknown setting of lsh 'centr': did you mean centre?",
    "tune itq digits --set iterations=-1 --trials 1": "itq on digits: iterations: ",
    "tune opq digits --bits 12": "opq on digits: bits: Input should be a multiple of 8",
    "tune sparse_th digits": "sparse_th makes no binary codes, which are compared here",
    "tune lsh digits --name ../up": "--name ../up: letters, digits, _, - and dots are expected",
    "tune lsh digits --name talr_table1": "--name talr_table1: letters, digits, _, - and dots are expected",
    "tune lsh digits --jobs 2 --ray local": "--jobs cannot be combined with --ray",
}


def write_images(folder: str, size: tuple[int, int] = (4, 5), **classes: int) -> None:
    for name, n in classes.items():
        Path(folder, name).mkdir(parents=True, exist_ok=True)
        for number in range(n):
            Image.new("RGB", size, (90 * number % 255, 9, 9)).save(Path(folder, name, f"{number}.png"))


def write_folders() -> None:
    for folder in ("images", "with_empty", "deep/train", "outside", "cut", "sizes"):
        write_images(folder, rose=2, tulip=2)
    write_images("one_class", rose=2)
    write_images("sizes", (7, 9), tulip=1)
    for folder in ("empty", "with_empty/void", "data/photos"):
        Path(folder).mkdir(parents=True)
    Path("data/photos/mine.jpg").write_text("the only copy")
    whole = Path("cut/tulip/0.png").read_bytes()
    Path("cut/tulip/0.png").write_bytes(whole[: len(whole) // 2])
    Path("outside/0.png").write_bytes(whole)
    Path("circle").symlink_to("back")
    Path("back").symlink_to("circle")


def write_items(rng: np.random.Generator) -> None:
    """Items of custom data sets and their labels."""
    x = rng.standard_normal((N, D)) + IDS[:, None]
    words = np.array(["rose", "sun flower", "tulip"])[IDS]
    arrays = {
        "mine": {"items": x, "labels": IDS},
        "good": {"x": x, "y": IDS},
        "no_items": {"a": x, "b": x},
        "two_items": {"x": x, "data": x, "y": IDS},
        "few_labels": {"x": x, "y": IDS[1:]},
        "same_class": {"x": x, "y": IDS * 0},
        "single": {"x": x, "y": np.r_[IDS[:-1], 3]},
        "fractions": {"x": x, "y": IDS + 0.5},
        "one_and_none": {"x": x, "y": np.where(IDS, 1, -1)},
        "beyond": {"x": x, "y": IDS + np.uint64(1 << 63)},
        "same_items": {"x": x * 0, "y": IDS},
        "nan": {"x": np.where(np.arange(N)[:, None] == 30, np.nan, x), "y": IDS},
        "large": {"x": x * 1e20, "y": IDS},
        "objects": {"x": x, "y": np.array([{}] * N)},
        "words": {"x": words[:, None], "y": IDS},
        "flat": {"x": x[:, 0], "y": IDS},
        "channels_first": {"x": np.zeros((N, 3, 8, 8)), "y": IDS},
        "real_images": {"x": np.zeros((N, 8, 8)), "y": IDS},
        "white": {"x": np.full((N, 2, 2), 256), "y": IDS},
        "no_label_2": {"x": x, "y": np.c_[np.ones((N, 2), int), IDS * 0]},
        "of_2": {"x": x, "y": np.full((N, 2), 2)},
        "query": {"items": x[::10], "labels": IDS[::10]},
        "wide": {"x": x[:, :5], "y": IDS},
        "named_classes": {"x": x, "y": words},
        "train_test": {"train": x, "train_labels": IDS, "test": x, "test_labels": IDS},
    }
    for name, content in arrays.items():
        np.savez(f"{name}.npz", **content)
    with h5py.File("good.h5", "w") as file:
        file.update({"x": x, "y": IDS})
    Path("text.npz").write_text("x")
    Path("mine.pth").touch()
    with h5py.File("hole.h5", "w") as file:
        file["labels"] = np.arange(1 << 13) % 2
    with Path("hole.npy").open("wb") as sparse:  # no disk has so much
        shape = (1 << 13, 1 << 28)
        np.lib.format.write_array_header_1_0(sparse, {"shape": shape, "fortran_order": False, "descr": "|u1"})
        sparse.truncate(sparse.tell() + (2 << 40))


def write_vectors(rng: np.random.Generator) -> None:
    """Vectors without labels."""
    base = rng.integers(0, 100, (200, 8))
    queries = rng.integers(0, 100, (12, 8))
    squares = ((queries[:, None] - base) ** 2).sum(axis=2)
    near = np.argsort(squares, axis=1, kind="stable")[:, :100]
    vectors = rng.standard_normal((400, 16)).astype(np.float32)
    arrays = {
        "vectors": vectors,
        "usps": vectors,
        "v": base,
        "narrow": queries[:, 1:],
        "none_of_8": base[:0],
        "inf": np.where(base == 7, np.inf, base),
        "half_nan": np.where(base == 7, np.nan, base).astype("f2"),
        "1e20": np.where(base == 7, -1e20, base),
        "norm": np.where(base == 7, 9.9e17, base),
        "one_vector": base[:1],
        "images": base.reshape(200, 4, 2),
        "zero": base * (base > 200),
        "ones": np.ones((200, 8)),
        "ids": base[:, 0],
    }
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    Path("broken.npy").write_bytes(Path("vectors.npy").read_bytes()[:300])
    rows = [np.int32(8).tobytes() + row.astype("<f4").tobytes() for row in base]
    Path("cut.fvecs").write_bytes(b"".join(rows)[:-3])
    others = [np.int32(n).tobytes() + np.ones(n, "<f4").tobytes() for n in (17, 26)]
    Path("lengths.fvecs").write_bytes(b"".join(rows[:9] + others))
    Path("hostile.fbin").write_bytes(np.array([2**31, 2**31], "<u4").tobytes() + b"\0" * 64)
    Path("empty.fvecs").touch()
    Path("empty.npy").touch()
    for name, ids, distance in (
        ("near", near, "euclidean"),
        ("shifted", (near + 1) % 200, "euclidean"),
        ("out_of_range", near + 1, "euclidean"),
        ("jaccard", near, "jaccard"),
    ):
        with h5py.File(f"{name}.hdf5", "w") as file:
            file.update({"train": base.astype("f4"), "test": queries.astype("f4"), "neighbors": ids.astype("i4")})
            file["distances"] = np.sqrt(np.take_along_axis(squares, near, axis=1)).astype("f4")
            file.attrs["distance"] = distance


def write_codes(rng: np.random.Generator) -> None:
    """Saved codes of 20 queries and 300 items, and the neighbours of the queries."""
    sides = {"query": 20, "database": 300}
    bare = {f"{side}_codes": rng.integers(0, 2, (n, 16), np.uint8) for side, n in sides.items()}
    codes = {**bare, **{f"{side}_labels": np.arange(n) % 4 for side, n in sides.items()}}
    ids = {f"{side}_ids": np.arange(n) for side, n in sides.items()}
    fewer = {key: codes[key][:19] for key in ("query_codes", "query_labels")}
    arrays = {
        "codes": {**codes, "ones": np.ones(16), "negative": np.arange(16) - 1.0},
        "other": {**codes, "query_codes": 1 - codes["query_codes"]},
        "bare": bare,
        "fewer": {**codes, **fewer},
        "relabelled": {**codes, "query_labels": np.arange(20) % 4 // 2 * 2},
        "other_database": {**codes, "database_labels": np.arange(300) % 5},
        "named": {**codes, **ids},
        "renamed": {**codes, **ids, "query_ids": np.arange(20) + 1},
        "irrelevant": {**codes, "query_labels": np.full(20, 9)},
        "no_queries": {**bare, "query_codes": bare["query_codes"][:0]},
        "db": {key: codes[key] for key in ("database_codes", "database_labels")},
    }
    for name, content in arrays.items():
        np.savez(f"{name}.npz", **content)
    Path("cut.npz").write_bytes(Path("codes.npz").read_bytes()[:-100])
    near = np.argsort(rng.random((20, 300)), axis=1)[:, :100].astype(np.int32)
    beyond = near.copy()
    beyond[3, 5] = 300
    twice = near.copy()
    twice[4, 1] = twice[4, 0]
    gap = near.copy()
    gap[5, 3] = -1
    np.save("near.npy", near)
    np.savez(
        "near.npz",
        beyond=beyond,
        twice=twice,
        gap=gap,
        few=near[:9],
        none=near[:0],
        real=near.astype(np.float32),
        flat=near[0],
    )


def write_sparse() -> None:
    """Four items in three buckets, and what cannot be searched or ask."""
    activations = np.array([[1, 0, 0.5], [1, 0.5, 0], [0, 1, 0.5], [0, 0.5, 1]], np.float32)
    embeddings = np.array([[0], [4], [1], [9]], np.float32)
    buckets = np.array([[0], [0], [1], [2]])
    np.save("items.npy", embeddings)
    arrays = {
        "items": {"activations": activations, "embeddings": embeddings},
        "queries": {"activations": activations[:2], "embeddings": embeddings[:2]},
        "no_d": {"buckets": buckets},
        "half": {"buckets": buckets + 0.5, "d": 3},
        "no_embeddings": {"activations": np.zeros((1, 3))},
        "flat_activations": {"activations": np.zeros(3), "embeddings": np.zeros((1, 1))},
    }
    for name, content in arrays.items():
        np.savez(f"{name}.npz", **content)


def write_queries() -> None:
    """Images that no run on the digits encodes, and one that it does."""
    arrays = {
        "shape": np.zeros((5, 9, 8, 1), np.uint8),
        "nan_items": np.full((2, 8, 8, 1), np.nan, np.float32),
        "no_images": np.zeros((0, 8, 8, 1), np.uint8),
        "text_items": np.array(["a", "b"]),
    }
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    Image.new("L", (8, 8)).save("grey.png")


def write_root() -> None:
    """Tables of this folder, which is a root by them, and a card whose protocol does not fit its data."""
    tiny = table_of({"lsh": []})
    record = table_of({"lsh": []}, head='repeats = "splits"')
    Path("experiments/tables").mkdir(parents=True)
    for name, text in (("tiny", tiny), ("record", record)):
        Path(f"experiments/tables/{name}.toml").write_text(text)
    Path("experiments/recipes").mkdir()
    Path("experiments/recipes/kept.toml").write_text(recipe_of('dataset = "usps", model = "linear"'))
    digits = (paths.shipped() / "datasets" / "digits.toml").read_text()
    head, _, _ = digits.partition("[protocols.")
    rule = '[protocols.s1]\ndraw = "per_label"\ntitle = "by label"\ncitation = "hashbench"\n'
    write_card(Path(), "wrong", f"{head}{rule}queries_per_label = 1\ntrain_per_label = 1\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with all that the commands name; no case changes it."""
    folder = tmp_path_factory.mktemp("refused")
    with pytest.MonkeyPatch.context() as patch:
        typed_in(folder, patch)
        rng = np.random.default_rng(0)
        write_folders()
        write_items(rng)
        write_vectors(rng)
        write_codes(rng)
        write_sparse()
        write_queries()
        write_root()
        paths.read_again()
        assert status("dataset", "add", "mine", "mine.npz") == 0
        assert status("dataset", "add", "vectors", "vectors.npy") == 0
        assert status("dataset", "add", "queried", "mine.npz", "query.npz") == 0
        for seed in (0, 1):
            assert status("train", "lsh", "digits", "--bits", 16, "--seed", seed) == 0
    return folder


def typed_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Commands are typed in the folder, which is a root."""
    patch.chdir(folder)
    patch.delenv("HASHBENCH_ROOT", raising=False)
    patch.setenv("HASHBENCH_RESULTS", "results")
    patch.setenv("HASHBENCH_DATA", str(folder / "data"))
    paths.read_again()


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of every file but locks."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize("command", REFUSALS)
def test_it_is_one_line_and_changes_nothing(
    command: str, folder: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed_in(folder, monkeypatch)
    before = contents(folder)
    assert REFUSALS[command] in hashbench.refused(command)
    assert contents(folder) == before
